// The inner loop of decomposition: pairs of coefficients, one loop for all losses.
//
// It minimizes 1/2 a'Ka + sum_i g_i(a_i) where g_i is two parabolas that meet at zero, over a box and one equality row per
// group of samples. With `up` the derivative of the objective when a_i grows and `down` when it shrinks, a group is optimal
// when no `up` of a coefficient that may grow lies below a `down` of one that may shrink.
//
// Samples under no equality row are a group like the others together with a *phantom*: a coefficient without bounds, cost
// and kernel values, that makes up for whatever they sum to. It is the last coefficient, and its terms the last row.
#pragma once
#include "lanes.hpp"

namespace mercer::LEVEL {

inline constexpr double INFINITE = __builtin_inf();

// Curvature below which a direction counts as flat: LIBSVM's constant, there for duplicate rows and kernels that are not
// positive definite.
inline constexpr double FLAT = 1e-12;

// The first number that equals a value.
template <class T>
inline Size find(const T* x, Size first, Size last, T value, Size none) {
    const Full<T> wanted = all<Full<T>>(value);
    Size s = first;
    while (s + COUNT<T> <= last && !any_equal(load(x + s), wanted)) s += COUNT<T>;
    for (; s < last; s++) {
        if (x[s] == value) return s;
    }
    return none;
}

// Write the derivatives upwards and downwards, infinite where the box forbids the move.
void slopes_loop(Size n, const double* F, const double* a, const double* p_pos, const double* p_neg, const double* q_pos,
                 const double* q_neg, const double* lower, const double* upper, double* up, double* down) {
    for (Size s = 0; s < n; s++) {
        const double x = a[s];
        const double right = F[s] + p_pos[s] + q_pos[s] * x, left = F[s] + p_neg[s] + q_neg[s] * x;
        up[s] = x >= upper[s] ? INFINITE : x >= 0.0 ? right : left;
        down[s] = x <= lower[s] ? -INFINITE : x > 0.0 ? right : left;
    }
}

// Take steps of maximal second-order gain; return the violation left and write their number.
//
// Rows of `terms` say of a sample: linear terms below and above zero, quadratic ones, how far it may shrink from below zero
// and from above, and how far grow. Group g is the runs of samples from ends[g] to ends[g + 1], group 0 is under no equality
// row; a run lies between two numbers of `runs`. Kernel values in 16 bits are parts of 65,535.
// Rows of `state` are the derivatives up and down, the curvature along a coefficient that grows and that shrinks, and room
// for gains. No NaN enters; infinities do, they mark the bounds.
template <class S, class T>
double pair_loop(Matrix<const S> K, double* a, const double* terms, Matrix<T> state, Vector<const Unsigned> ends,
                 const Unsigned* runs, double tol, Index max_iter, Index idle, Size phantom, Index* taken) {
    using L = Full<T>;
    constexpr Size N = COUNT<T>;
    constexpr T unit = std::is_same_v<S, T> ? T(1) : T(1) / T(WHOLE);
    auto values = [](const S* p) {
        if constexpr (std::is_same_v<S, T>) {
            return load(p);
        } else {
            return load_shorts(p);
        }
    };
    T* up = state.data;
    T *down = up + state.stride, *grown = down + state.stride, *shrunk = grown + state.stride, *gain = shrunk + state.stride;
    const T far = T(INFINITE), flat = T(FLAT);
    Size i = 0, j = 0;
    T t_i = 0, t_j = 0;
    Index steps = 0, unmoved = 0;
    for (;;) {
        // Carry the last step over to all derivatives, and find the group of largest violation.
        T violation = 0, lowest = 0;
        Size chosen = 0;
        const S *K_i = K.data + i * K.stride, *K_j = K.data + j * K.stride;
        for (Size g = 0; g + 1 < ends.size; g++) {
            T low = g ? far : T(0), high = -low;
            L lows = all<L>(low), highs = all<L>(high);
            for (Size run = ends.data[g]; run < ends.data[g + 1]; run++) {
                Size s = runs[2 * run];
                const Size end = runs[2 * run + 1];
                for (; s + N <= end; s += N) {
                    const L change = fused(t_i, values(K_i + s), t_j * values(K_j + s));
                    const L u = load(up + s) + change, d = load(down + s) + change;
                    store(up + s, u);
                    store(down + s, d);
                    lows = lesser(lows, u);
                    highs = greater(highs, d);
                }
                for (; s < end; s++) {
                    const T change = fused(t_i, T(K_i[s]), t_j * T(K_j[s]));
                    up[s] += change;
                    down[s] += change;
                    low = lesser_of(low, up[s]);
                    high = greater_of(high, down[s]);
                }
            }
            low = lesser_of(low, least(lows));
            high = greater_of(high, most(highs));
            if (high - low > violation) {
                violation = high - low;
                lowest = low;
                chosen = g;
            }
        }
        if (double(violation) <= tol || steps >= max_iter || unmoved >= idle) {
            *taken = steps;
            return double(violation);
        }
        steps++;
        // The one that gains most by growing, to first order, and its best partner to second.
        const Size first = ends.data[chosen], last = ends.data[chosen + 1];
        auto place = [&](const T* x, T value) {
            Size s = phantom;
            for (Size run = first; run < last && s == phantom; run++) s = find(x, runs[2 * run], runs[2 * run + 1], value, phantom);
            return s;
        };
        i = place(up, lowest);
        const T base = grown[i], twice = i < phantom ? T(2) * unit : T(0);
        const S* row = K.data + (i < phantom ? i : 0) * K.stride;
        T best = chosen ? T(0) : lowest * lowest / greater_of(base, flat);
        L bests = all<L>(best);
        for (Size run = first; run < last; run++) {
            Size s = runs[2 * run];
            const Size end = runs[2 * run + 1];
            for (; s + N <= end; s += N) {
                const L x = greater(load(down + s) - lowest, L{});
                const L bend = greater(fused(-twice, values(row + s), base + load(shrunk + s)), all<L>(flat));
                const L here = x * x / bend;
                store(gain + s, here);
                bests = greater(bests, here);
            }
            for (; s < end; s++) {
                const T x = greater_of(down[s] - lowest, T(0));
                gain[s] = x * x / greater_of(fused(-twice, T(row[s]), base + shrunk[s]), flat);
                best = greater_of(best, gain[s]);
            }
        }
        best = greater_of(best, most(bests));
        j = place(gain, best);
        double cross = 0.0;
        if (i < phantom && j < phantom) {
            cross = 2.0 * double(unit) * double(K.data[i * K.stride + j]);
        } else if (chosen) {
            *taken = steps;
            return INFINITE;
        }
        // Land exactly on bounds and on zero: support vectors are told apart by equality.
        const double a_i = a[i], a_j = a[j];
        const double *T_i = terms + 8 * i, *T_j = terms + 8 * j;
        const Size side_i = a_i >= 0.0, side_j = a_j > 0.0;
        const double F_i = double(up[i]) - T_i[side_i] - T_i[2 + side_i] * a_i;
        const double F_j = double(down[j]) - T_j[side_j] - T_j[2 + side_j] * a_j;
        const double end_i = T_i[6 + side_i], end_j = T_j[4 + side_j];
        const double room_i = end_i - a_i, room_j = a_j - end_j;
        double t = (double(down[j]) - double(up[i])) / greater_of(double(grown[i]) + double(shrunk[j]) - cross, FLAT);
        t = lesser_of(t, lesser_of(room_i, room_j));
        a[i] = t == room_i ? end_i : a_i + t;
        a[j] = t == room_j ? end_j : a_j - t;
        unmoved = a[i] != a_i || a[j] != a_j ? 0 : unmoved + 1;
        t_i = T(t) * unit, t_j = T(-t) * unit;
        // The two derivatives change their branch as well; the pass above adds the step to them.
        for (int second = 0; second < 2; second++) {
            const Size k = second ? j : i;
            const double F = second ? F_j : F_i;
            if (k >= phantom) continue;
            const double x = a[k], *of = terms + 8 * k;
            const Size right = x >= 0.0, left = x > 0.0;
            const double q_right = of[2 + right], q_left = of[2 + left];
            up[k] = x < of[7] ? T(F + of[right] + q_right * x) : far;
            down[k] = x > of[4] ? T(F + of[left] + q_left * x) : -far;
            const double diagonal = double(unit) * double(K.data[k * K.stride + k]);
            grown[k] = T(diagonal + q_right);
            shrunk[k] = T(diagonal + q_left);
        }
        // The phantom has no row to add.
        if (i == phantom) i = j, t_i = 0;
        if (j == phantom) j = i, t_j = 0;
    }
}

// Copy some rows of a square to its columns, in the rows from `first` on that are none of them.
//
// Few of the rows and many of the columns at a time: what is read stays in the cache until it is written.
template <class S>
void mirror_rows(Matrix<S> K, Vector<const Index> places, const bool* among, Size first, Size last) {
    constexpr Size few = 32;
    for (Size start = 0; start < places.size; start += few) {
        const Size stop = lesser_of(start + few, places.size);
        for (Size s = first; s < last; s++) {
            if (among[s]) continue;
            S* to = K.data + s * K.stride;
            for (Size q = start; q < stop; q++) to[places.data[q]] = K.data[Size(places.data[q]) * K.stride + s];
        }
    }
}

}  // namespace mercer::LEVEL
