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

// Points that go down a tree together: one waits for the node that it reads, and meanwhile the others read theirs.
constexpr Size TOGETHER = 8;

// Add the values of the leaves that points fall into, tree by tree, to the rows of out.
//
// A leaf is its own child. Where fewer points are left, the last one is read again.
void add_leaves(Matrix<const float> X, Vector<const std::uint32_t> roots, const Node* nodes, Matrix<const double> values,
                Matrix<double> out) {
    for (Size tree = 0; tree < roots.size; tree++) {
        for (Size i = 0; i < X.rows; i += TOGETHER) {
            const float* x[TOGETHER];
            std::uint32_t at[TOGETHER];
            for (Size l = 0; l < TOGETHER; l++) {
                x[l] = X.data + lesser_of(i + l, X.rows - 1) * X.stride;
                at[l] = roots.data[tree];
            }
            for (std::uint32_t moved = 1; moved;) {
                moved = 0;
                for (Size l = 0; l < TOGETHER; l++) {
                    const Node node = nodes[at[l]];
                    const std::uint32_t child = node.left + (x[l][node.feature] > node.cut);
                    moved |= child ^ at[l];
                    at[l] = child;
                }
            }
            for (Size l = 0; l < lesser_of(TOGETHER, X.rows - i); l++) {
                const double* of = values.data + nodes[at[l]].leaf * values.stride;
                double* sum = out.data + (i + l) * out.stride;
                for (Size k = 0; k < out.columns; k++) sum[k] += of[k];
            }
        }
    }
}

}  // namespace mercer::LEVEL
