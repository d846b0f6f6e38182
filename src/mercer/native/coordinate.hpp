// The sweep of coordinate descent over the rows of a factor, one loop for all losses.
//
// It lowers 1/2 |Z'a|^2 + beta'B'a + rho/2 |B'a|^2 + sum_i g_i(a_i), one coefficient after the other, where g_i is two
// parabolas that meet at zero, over a box. Rows are read in blocks that lie together, blocks in random order: memory comes
// faster in line than at random.
#pragma once
#include "pairs.hpp"
#include "sums.hpp"

namespace mercer::LEVEL {

// Move each of the active coefficients once; return the largest violation that was met.
//
// A row of `rows` is a coefficient, its square in ZZ' + rho BB', linear and quadratic coefficients of its cost below and
// above zero, and its bounds. w = Z'a and beta follow the coefficients. Those that rest by more than `limit` are marked.
template <class T>
double sweep(Factor<T> Z, Sweep s) {
    const Size q = s.beta.size;
    double* w = s.w.data;
    double largest = 0.0;
    for (Size block = 0; block < s.blocks.size; block++) {
        const Size begin = s.blocks.data[block] * s.block_size;
        for (Size k = begin; k < lesser_of(begin + s.block_size, s.active.size); k++) {
            const Size i = s.active.data[k], first = Z.starts[i];
            const Size length = Z.sparse ? Z.starts[i + 1] - first : s.w.size;
            const T* values = Z.values + first;
            const std::uint32_t* columns = Z.columns + first;
            double f = 0.0;
            if (Z.sparse) {
                // Four sums that do not wait for each other.
                double f_1 = 0.0, f_2 = 0.0, f_3 = 0.0;
                Size j = 0;
                for (; j + 4 <= length; j += 4) {
                    f = fused(w[columns[j]], double(values[j]), f);
                    f_1 = fused(w[columns[j + 1]], double(values[j + 1]), f_1);
                    f_2 = fused(w[columns[j + 2]], double(values[j + 2]), f_2);
                    f_3 = fused(w[columns[j + 3]], double(values[j + 3]), f_3);
                }
                for (; j < length; j++) f = fused(w[columns[j]], double(values[j]), f);
                f += f_1 + f_2 + f_3;
            } else {
                f = sum_run(0, length, w, [=](Size j, auto n) { return read_double(values + j, n); });
            }
            for (Size c = 0; c < q; c++) f += s.beta.data[c] * s.B[i * s.B_row + c * s.B_column];
            double* row = s.rows.data + i * s.rows.stride;
            const double a = row[0];
            // Derivatives upwards and downwards; where the box forbids the move none is wanted.
            const double right = a >= 0.0 ? f + row[3] + row[5] * a : f + row[2] + row[4] * a;
            const double left = a > 0.0 ? f + row[3] + row[5] * a : f + row[2] + row[4] * a;
            const double up = a < row[7] ? -right : -INFINITE, down = a > row[6] ? left : -INFINITE;
            const double violation = greater_of(up, down);
            if (violation <= 0.0) {
                s.resting[k] = violation < -s.limit;
                continue;
            }
            largest = greater_of(largest, violation);
            const double target = row[1] * a - f;
            double next = 0.0;
            if (target > row[3]) {
                next = lesser_of((target - row[3]) / (row[1] + row[5]), row[7]);
            } else if (target < row[2]) {
                next = greater_of((target - row[2]) / (row[1] + row[4]), row[6]);
            }
            const double change = next - a;
            if (change == 0.0) continue;
            row[0] = next;
            if (Z.sparse) {
                for (Size j = 0; j < length; j++) w[columns[j]] = fused(change, double(values[j]), w[columns[j]]);
            } else {
                write_row(w, length, [=](Size j, auto n) { return fused(change, read_double(values + j, n), read(w + j, n)); });
            }
            for (Size c = 0; c < q; c++) s.beta.data[c] += s.rho[c] * change * s.B[i * s.B_row + c * s.B_column];
        }
    }
    return largest;
}

}  // namespace mercer::LEVEL
