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
// and from above, and how far grow. Group g is the samples from ends[g] to ends[g + 1], group 0 is under no equality row.
// Rows of `state` are the derivatives up and down, the curvature along a coefficient that grows and that shrinks, and room
// for gains. No NaN enters; infinities do, they mark the bounds.
template <class T>
double pair_loop(Matrix<const T> K, double* a, const double* terms, Matrix<T> state, Vector<const Unsigned> ends,
                 double tol, Index max_iter, Index idle, Size phantom, Index* taken) {
    using L = Full<T>;
    constexpr Size N = COUNT<T>;
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
        const T *K_i = K.data + i * K.stride, *K_j = K.data + j * K.stride;
        for (Size g = 0; g + 1 < ends.size; g++) {
            T low = g ? far : T(0), high = -low;
            L lows = all<L>(low), highs = all<L>(high);
            Size s = ends.data[g];
            const Size end = ends.data[g + 1];
            for (; s + N <= end; s += N) {
                const L change = fused(t_i, load(K_i + s), t_j * load(K_j + s));
                const L u = load(up + s) + change, d = load(down + s) + change;
                store(up + s, u);
                store(down + s, d);
                lows = lesser(lows, u);
                highs = greater(highs, d);
            }
            low = least(lows);
            high = most(highs);
            for (; s < end; s++) {
                const T change = fused(t_i, K_i[s], t_j * K_j[s]);
                up[s] += change;
                down[s] += change;
                low = lesser_of(low, up[s]);
                high = greater_of(high, down[s]);
            }
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
        i = find(up, first, last, lowest, phantom);
        const T base = grown[i], twice = i < phantom ? T(2) : T(0);
        const T* row = K.data + (i < phantom ? i : first) * K.stride;
        T best = chosen ? T(0) : lowest * lowest / greater_of(base, flat);
        {
            L bests = all<L>(best);
            Size s = first;
            for (; s + N <= last; s += N) {
                const L x = greater(load(down + s) - lowest, L{});
                const L bend = greater(fused(-twice, load(row + s), base + load(shrunk + s)), all<L>(flat));
                const L here = x * x / bend;
                store(gain + s, here);
                bests = greater(bests, here);
            }
            best = most(bests);
            for (; s < last; s++) {
                const T x = greater_of(down[s] - lowest, T(0));
                gain[s] = x * x / greater_of(fused(-twice, row[s], base + shrunk[s]), flat);
                best = greater_of(best, gain[s]);
            }
        }
        j = find(gain, first, last, best, phantom);
        double cross = 0.0;
        if (i < phantom && j < phantom) {
            cross = 2.0 * double(K.data[i * K.stride + j]);
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
        t_i = T(t), t_j = T(-t);
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
            grown[k] = T(double(K.data[k * K.stride + k]) + q_right);
            shrunk[k] = T(double(K.data[k * K.stride + k]) + q_left);
        }
        // The phantom has no row to add.
        if (i == phantom) i = j, t_i = 0;
        if (j == phantom) j = i, t_j = 0;
    }
}

}  // namespace mercer::LEVEL
