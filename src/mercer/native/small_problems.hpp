// Pair steps of small problems over parts of one kernel matrix, in one call.
//
// For each problem: its square of the matrix, pair steps, coefficients snapped to their box, and their products from
// scratch; then its intercepts and its certificate. Rows of `terms` are those of the pair steps, with the box in columns 4
// and 7. Formulas of the certificate are those of mercer/losses/fenchel_young.py, problems/risk.py and solvers/status.py,
// which NumPy evaluates for larger problems; the tests compare the two.
#pragma once
#include "pairs.hpp"

namespace mercer::LEVEL {

// Constants of mercer/solvers/rounding.py and status.py.
constexpr double EPS = 2.220446049250313e-16;
constexpr double RELATIVE_ROUNDING = 2.0 * EPS, SUMMATION_ROUNDING = 8.0 * RELATIVE_ROUNDING;
constexpr double NEGLIGIBLE_LOSS_PART = 1e-6, NEGLIGIBLE_TARGET_PART = 1e-3;
constexpr double MAX_RELATIVE_GAP = 1e-2, GAP_ROUNDING = 1e-12, MAX_RESIDUAL = 1e-9;
constexpr double MIN_NORMAL = 2.2250738585072014e-308;

inline double size_of(double x) { return __builtin_fabs(x); }

// Write S x to F for a symmetric S, row by row of it where x is not zero.
inline void multiply(const double* S, Size stride, Size m, const double* x, double* F) {
    if (m) __builtin_memset(F, 0, m * sizeof(double));
    for (Size s = 0; s < m; s++) {
        const double t = x[s];
        if (t == 0.0) continue;
        const double* row = S + s * stride;
        Size r = 0;
        for (; r + COUNT<double> <= m; r += COUNT<double>) store(F + r, fused(t, load(row + r), load(F + r)));
        for (; r < m; r++) F[r] = fused(t, row[r], F[r]);
    }
}

// Copy the square of the matrix that belongs to m points; runs of points that follow each other in one piece.
inline void copy_square(Matrix<const double> K, const Unsigned* points, Size m, double* square, Unsigned* runs) {
    Size n_runs = 0;
    for (Size s = 0; s < m; s++) {
        if (s == 0 || points[s] != points[s - 1] + 1) runs[n_runs++] = s;
    }
    runs[n_runs] = m;
    for (Size r = 0; r < m; r++) {
        double* row = square + r * m;
        const double* source = K.data + points[r] * K.stride;
        if (4 * n_runs > m) {
            // Points in no order: a run of one or two takes longer than its points.
            for (Size s = 0; s < m; s++) row[s] = source[points[s]];
            continue;
        }
        for (Size t = 0; t < n_runs; t++) {
            const double* piece = source + points[runs[t]];
            for (Size s = runs[t]; s < runs[t + 1]; s++) row[s] = piece[s - runs[t]];
        }
    }
}

// Solve problem k over the samples from ends[k] to ends[k + 1], for all k.
//
// `index` says which point of K a sample is (`whole`: the samples are the points). Group g of problem k is its samples from
// cuts[k, g] to cuts[k, g + 1], which sum to d[k, g]. Coefficients begin as they are in a; they and their products f are
// written. Those within `support` of zero or of their box are put there, and the sums of groups are restored.
void solve_parts(Matrix<const double> K, Vector<const Unsigned> index, bool whole, Parts parts, Steps limits, double* a,
                 double* f, Workspace work) {
    const Size phantom = parts.terms.rows - 1, q = parts.d.columns;
    for (Size k = 0; k + 1 < parts.ends.size; k++) {
        const Size first = parts.ends.data[k], m = parts.ends.data[k + 1] - first;
        const Size width = m + 1, row_width = (width + 7) / 8 * 8;
        const Unsigned* cuts = parts.cuts.data + k * parts.cuts.stride;
        const double* d = parts.d.data + k * parts.d.stride;
        double* F = f + first;
        Matrix<const double> S = {K.data, m, m, K.stride};
        if (!whole) {
            copy_square(K, index.data + first, m, work.square, work.runs);
            S = {work.square, m, m, m};
        }
        double *T = work.lines, *x = T + 8 * width;
        Matrix<double> rows = {x + row_width, 5, width, row_width};
        for (Size s = 0; s < width; s++) {
            const double* source = parts.terms.data + (s < m ? first + s : phantom) * parts.terms.stride;
            for (Size r = 0; r < 8; r++) T[8 * s + r] = source[r];
            x[s] = s < m ? a[first + s] : 0.0;
        }
        multiply(S.data, S.stride, m, x, F);
        double *up = rows.data, *down = up + row_width, *grown = down + row_width, *shrunk = grown + row_width;
        up[m] = down[m] = grown[m] = shrunk[m] = 0.0;
        for (Size s = 0; s < m; s++) {
            const double v = x[s], *row = T + 8 * s, diagonal = S.data[s * S.stride + s];
            const Size right = v >= 0.0, left = v > 0.0;
            up[s] = v < row[7] ? F[s] + row[right] + row[2 + right] * v : INFINITE;
            down[s] = v > row[4] ? F[s] + row[left] + row[2 + left] * v : -INFINITE;
            grown[s] = diagonal + row[2 + right];
            shrunk[s] = diagonal + row[2 + left];
        }
        // One run a group: its numbers follow those of the groups.
        Unsigned* runs = work.stops + q + 2;
        for (Size g = 0; g <= q; g++) {
            work.stops[g] = g;
            runs[2 * g] = g ? cuts[g - 1] : 0;
            runs[2 * g + 1] = cuts[g];
        }
        work.stops[q + 1] = q + 1;
        Index taken = 0;
        pair_loop<double, double>(S, x, T, rows, {work.stops, q + 2}, runs, limits.tols[k], limits.most[k], 100, m, &taken);
        limits.steps[k] += taken;
        double largest = 0.0;
        for (Size s = 0; s < m; s++) largest = greater_of(largest, size_of(x[s]));
        for (Size g = 0; g < q; g++) {
            double total = 0.0, space = 0.0;
            for (Size s = cuts[g]; s < cuts[g + 1]; s++) {
                const double low = T[8 * s + 4], high = T[8 * s + 7];
                const double near = limits.support * lesser_of(high - low, largest);
                double v = lesser_of(greater_of(x[s], low), high);
                v = size_of(v) <= near ? 0.0 : v;
                v = v <= low + near ? low : v >= high - near ? high : v;
                x[s] = v + 0.0;  // no negative zero
                total += v;
                space += lesser_of(lesser_of(v - low, high - v), size_of(v));
            }
            const double missing = d[g] - total;
            if (missing == 0.0 || !(space > 0.0)) continue;
            for (Size s = cuts[g]; s < cuts[g + 1]; s++) {
                const double low = T[8 * s + 4], high = T[8 * s + 7];
                double v = x[s];
                v += lesser_of(lesser_of(v - low, high - v), size_of(v)) / space * missing;
                x[s] = lesser_of(greater_of(v, low), high) + 0.0;
            }
        }
        multiply(S.data, S.stride, m, x, F);
        for (Size s = 0; s < m; s++) a[first + s] = x[s];
    }
}

// Fill the boxes of each group in their order until they sum to d, beginning at zero.
void start_parts(Parts parts, double* a) {
    for (Size k = 0; k < parts.d.rows; k++) {
        const Unsigned* cuts = parts.cuts.data + k * parts.cuts.stride;
        for (Size g = 0; g < parts.d.columns; g++) {
            const double missing = parts.d.data[k * parts.d.stride + g];
            if (missing == 0.0) continue;
            double before = 0.0;
            for (Size s = parts.ends.data[k] + cuts[g]; s < parts.ends.data[k] + cuts[g + 1]; s++) {
                const double* row = parts.terms.data + s * parts.terms.stride;
                const double room = missing > 0.0 ? row[7] : -row[4];
                const double v = lesser_of(greater_of(size_of(missing) - before, 0.0), room);
                a[s] = missing > 0.0 ? v : -v;
                before += room;
            }
        }
    }
}

// The larger of two numbers, or NaN if one is, as NumPy's maximum; and NumPy's minimum.
inline double maximum(double x, double y) { return x >= y || x != x ? x : y; }
inline double minimum(double x, double y) { return x <= y || x != x ? x : y; }

// c l(y, f) of a row of terms: the largest -a f - g(a) over a.
inline double loss_value(double f, const double* row) {
    const bool positive = -f > row[1];
    const double e = positive ? -f - row[1] : f + row[0], q = positive ? row[3] : row[2];
    const double bound = positive ? row[7] : -row[4];
    const double t = minimum(e / q, bound);  // perhaps neither curvature nor bound
    const double part = e - 0.5 * q * t, half = 0.5 * e;
    const double larger = part != part ? half : half != half ? part : greater_of(part, half);
    return minimum(e, bound) <= 0.0 ? 0.0 : t * larger;
}

struct Conjugate {
    double value, left, right;
};

// The conjugate and its left and right derivative, which differ at zero.
inline Conjugate conjugate_slopes(double a, const double* row) {
    const double p = a > 0.0 ? row[1] : row[0], q = a > 0.0 ? row[3] : row[2], left = p + q * a;
    return {a * (p + 0.5 * q * a), left, a == 0.0 ? row[1] : left};
}

// Write intercepts, the intervals they may lie in, and the certificate of each problem.
//
// Products with K are in f before, decision values after. Row k of `values` is: penalty, losses, gap, objective, dual
// value, violation, residual, coefficients inside their box and on its ends, weights, and a verdict: 0 for a tolerance that
// is not met, 1 next to a gap that is not small (beside the objective, or beside nothing where a margin is), 2 otherwise.
// Where rounding can make a gap that is not small the verdict is 0. `largest` is the largest kernel value, and
// `value_error` the part of it that values are off by.
void measure_parts(Parts parts, const double* c, const double* tols, double largest, double value_error, const double* a,
                   double* f, Measures out) {
    const Size q = parts.d.columns;
    for (Size k = 0; k < parts.d.rows; k++) {
        const Size begin = parts.ends.data[k], end = parts.ends.data[k + 1];
        const Unsigned* cuts = parts.cuts.data + k * parts.cuts.stride;
        const double* d = parts.d.data + k * parts.d.stride;
        auto row_of = [&](Size s) { return parts.terms.data + s * parts.terms.stride; };
        double penalty = 0.0, losses = 0.0, gap = 0.0, conjugates = 0.0, weights = 0.0, cost = 0.0, violation = 0.0;
        double residual = 0.0, n_free = 0.0, n_bound = 0.0, target = 0.0, reach = 0.0, squares = 0.0;
        for (Size s = begin; s < end; s++) {
            const double v = a[s], *row = row_of(s);
            target = greater_of(greater_of(size_of(row[0]), size_of(row[1])), target);
            reach = greater_of(reach, size_of(v));
            squares += v * v;
        }
        const double unit = greater_of(reach, largest > 0.0 ? target / largest : INFINITE);
        const bool untargeted = target == 0.0;
        double price = 0.0;
        for (Size g = 0; g < q; g++) {
            const Size first = begin + cuts[g], last = begin + cuts[g + 1];
            double bottom = -INFINITE, top = INFINITE, total = 0.0, inside = 0.0;
            bool unique = false;
            for (Size s = first; s < last; s++) {
                const double v = a[s], *row = row_of(s);
                const Conjugate slopes = conjugate_slopes(v, row);
                const double low = -f[s] - slopes.right, high = -f[s] - slopes.left;
                penalty += 0.5 * v * f[s];
                if (v < row[7]) bottom = greater_of(bottom, low);
                if (v > row[4]) {
                    top = lesser_of(top, high);
                    if (v < row[7]) {
                        unique = unique || low == high;
                        if (v != 0.0) total += low, inside += 1.0;
                    }
                }
            }
            // Where coefficients inside their bounds determine an intercept it is their average.
            double middle = top < INFINITE ? 0.5 * (bottom + top) : bottom;
            middle = bottom > -INFINITE ? middle : top < INFINITE ? top : 0.0;
            const double beta = inside > 0.0 ? total / inside : middle;
            unique = unique || bottom > top;
            out.b[k * q + g] = beta;
            out.intervals[2 * (k * q + g)] = unique ? beta : bottom;
            out.intervals[2 * (k * q + g) + 1] = unique ? beta : top;
            double sums = 0.0, size = size_of(d[g]);
            for (Size s = first; s < last; s++) {
                const double v = a[s], *row = row_of(s), value = f[s] + beta;
                const Conjugate conjugate = conjugate_slopes(v, row);
                const double loss = loss_value(value, row);
                losses += loss;
                conjugates += conjugate.value;
                gap += maximum(loss + conjugate.value + v * value, 0.0);
                const double below = v <= row[4] ? 0.0 : conjugate.left + value;
                const double above = v >= row[7] ? 0.0 : -value - conjugate.right;
                violation = maximum(violation, maximum(maximum(below, above), 0.0));
                sums += v;
                size += maximum(size_of(v), 1e-6 * minimum(c[s], unit));
                target = greater_of(target, size_of(value));
                weights += c[s];
                n_bound += v != 0.0 ? 1.0 : 0.0;
                f[s] = value;
            }
            residual = greater_of(residual, size_of(sums - d[g]) / (size > 0.0 ? size : 1.0));
            cost += d[g] * beta;
            price += size_of(d[g]);
            n_free += inside;
        }
        const double primal = penalty + losses + cost;
        double dual = -(penalty + conjugates);
        // Decision values that are off by rounding, and what that can do to objective and gap.
        const double spread = largest * __builtin_sqrt(squares);
        const double delta = (SUMMATION_ROUNDING + value_error) * spread + RELATIVE_ROUNDING * target;
        double error = 0.0, size = 0.0;
        for (Size s = begin; s < end; s++) {
            const double *row = row_of(s), value = f[s], here = loss_value(value, row);
            const double above = loss_value(value + delta, row), below = loss_value(value - delta, row);
            error += maximum(above, below) - here + size_of(a[s]) * delta;
            size += size_of(a[s]);
        }
        error = error != error ? INFINITE : error;
        if (error > GAP_ROUNDING * size_of(primal)) gap += error, dual -= 0.5 * delta * size;
        // What `negligible_gap` takes for the size of a region's decision values.
        if (untargeted) target = greater_of(target, lesser_of(1.0, NEGLIGIBLE_TARGET_PART * price * largest));
        const double proof = (NEGLIGIBLE_TARGET_PART * target) * (NEGLIGIBLE_TARGET_PART * target);
        const bool sure = error <= MAX_RELATIVE_GAP * greater_of(size_of(primal), size_of(dual)) ||
                          2.0 * largest * error <= proof;
        const bool close = size_of(primal) < INFINITE && violation <= tols[k] && residual <= MAX_RESIDUAL;
        const double scale = size_of(dual) < INFINITE ? greater_of(size_of(primal), size_of(dual)) : size_of(primal);
        const double relative = gap <= MIN_NORMAL ? 0.0 : scale > 0.0 ? gap / scale : INFINITE;
        bool small = relative <= MAX_RELATIVE_GAP;
        if (untargeted && !small) {
            // A margin that is nothing, as `gap_resolution` has it.
            const double none = MAX_RELATIVE_GAP * NEGLIGIBLE_LOSS_PART * 0.5 * price * price * largest;
            small = gap <= none && 2.0 * largest * gap <= proof;
        }
        const double verdict = !(close && sure) ? 0.0 : small ? 2.0 : 1.0;
        const double measured[] = {penalty, losses, gap,    primal,           dual,    violation,
                                   residual, n_free, n_bound - n_free, weights, verdict};
        double* row = out.values.data + k * out.values.stride;
        for (Size i = 0; i < 11; i++) row[i] = measured[i];
    }
}

}  // namespace mercer::LEVEL
