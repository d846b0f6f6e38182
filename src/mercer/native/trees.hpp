// Points on their way down the trees of a forest.
#pragma once
#include "lanes.hpp"

namespace mercer::LEVEL {

// Write the leaf of each point: larger values go right, and codes that are not known.
//
// Codes of node k, in ascending order, are codes[first[k]] to codes[first[k + 1]].
template <class T>
void descend(Matrix<const T> X, Tree tree, Index* leaf) {
    for (Size i = 0; i < X.rows; i++) {
        Size node = 0;
        while (tree.column[node] >= 0) {
            const double x = double(X.data[i * X.stride + Size(tree.column[node])]);
            Index begin = tree.first[node], end = tree.first[node + 1];
            bool right;
            if (begin == end) {
                right = x > tree.cut[node];
            } else {
                const Index last = end;
                while (begin < end) {
                    const Index middle = begin + (end - begin) / 2;
                    if (tree.codes[middle] < x) {
                        begin = middle + 1;
                    } else {
                        end = middle;
                    }
                }
                right = begin == last || tree.codes[begin] != x;
            }
            node = Size(right ? tree.right[node] : tree.left[node]);
        }
        leaf[i] = tree.left[node];
    }
}

// Add the values of the leaves that points fall into, tree by tree, to the rows of out.
//
// Points go down a tree together: one waits for the node that it reads, and meanwhile the others read theirs. A row of
// `blocks` is some of them, feature by feature; what follows the last point is any number. A leaf is its own child.
void add_leaves(Matrix<const float> blocks, Vector<const std::uint32_t> roots, const Node* nodes,
                Matrix<const double> values, Matrix<double> out) {
    for (Size tree = 0; tree < roots.size; tree++) {
        for (Size block = 0; block < blocks.rows; block++) {
            const float* points = blocks.data + block * blocks.stride;
            std::uint32_t at[POINTS_TOGETHER], moved;
            auto child = [&](Size l) {
                const Node& node = nodes[at[l]];
                return node.left + (points[node.feature * POINTS_TOGETHER + l] > node.cut);
            };
            for (Size l = 0; l < POINTS_TOGETHER; l++) at[l] = roots.data[tree];
            do {
                // Two steps, because looking whether a point has moved costs a fifth of one.
                for (Size l = 0; l < POINTS_TOGETHER; l++) at[l] = child(l);
                moved = 0;
                for (Size l = 0; l < POINTS_TOGETHER; l++) {
                    const std::uint32_t next = child(l);
                    moved |= next ^ at[l];
                    at[l] = next;
                }
            } while (moved);
            const Size first = block * POINTS_TOGETHER;
            for (Size l = 0; l < lesser_of(POINTS_TOGETHER, out.rows - first); l++) {
                const double* of = values.data + nodes[at[l]].leaf * values.stride;
                double* sum = out.data + (first + l) * out.stride;
                if (out.columns == 1) {
                    sum[0] += of[0];
                } else {
                    each<double>(0, out.columns, [=](Size j, auto k) { write(sum + j, read(sum + j, k) + read(of + j, k), k); });
                }
            }
        }
    }
}

}  // namespace mercer::LEVEL
