// Losses of rows whose conjugates are two parabolas that meet at zero, and Newton's method for a sigmoid.
//
// Arrays have one number for each row: slopes of the conjugate above and below zero, its curvatures there (`flat`, because
// the loss is as flat), and the smallest and largest slope of the loss.
#pragma once
#include "pairs.hpp"
#include "radial.hpp"

namespace mercer::LEVEL {

// Numbers that the rows of a loss have, k of them from row i on.
struct Rows {
    Doubles above, below, flat_above, flat_below, low, high;
};
template <class K>
inline Rows read_rows(const Parabolas& p, Size i, K k) {
    return {read(p.above + i, k),      read(p.below + i, k), read(p.flat_above + i, k),
            read(p.flat_below + i, k), read(p.low + i, k),   read(p.high + i, k)};
}

// The conjugate at a slope: one parabola above zero, one below.
inline Doubles conjugate_of(Doubles v, Doubles up, Doubles q, Doubles down, Doubles r) {
    const Doubles zero{};
    return greater(v, zero) * (up + 0.5 * q * v) + lesser(v, zero) * (down + 0.5 * r * v);
}

// Write slopes of rounded losses and their weighted curvatures; return sums of losses, of weighted slopes and their sizes,
// of curvatures, and the number of rows that have one.
//
// The loss at t is the largest of v t - l*(v) - mu / 2 (v - v0)^2, l* the conjugate.
RoundedSums rounded(Vector<const double> t, const double* v0, double mu, const double* c, Parabolas p, double* v,
                    double* bent) {
    const Doubles zero{}, one = all<Doubles>(1.0);
    Doubles losses{}, slopes{}, sizes{}, curvatures{}, active{};
    each<double>(0, t.size, [&](Size i, auto k) {
        const Rows row = read_rows(p, i, k);
        const Doubles x = read(t.data + i, k), center = read(v0 + i, k), weight = read(c + i, k);
        Doubles q = row.flat_above + mu, r = row.flat_below + mu;
        if constexpr (std::is_same_v<decltype(k), Size>) {
            // Rows that are not there have a curvature all the same: nothing is divided by zero.
            q = where_less(zero, q, q, one), r = where_less(zero, r, r, one);
        }
        const Doubles z = x + mu * center;
        const Doubles right = greater(z - row.above, zero), left = lesser(z - row.below, zero);
        const Doubles free = right / q + left / r;
        const Doubles slope = lesser(greater(free, row.low), row.high);
        // Curved where the slope is free of its bounds, and not at the kink.
        const Doubles bend = where_less(zero, right, weight / q, weight / r);
        const Doubles above_low = where_less(row.low, free, where_less(left, right, bend, zero), zero);
        const Doubles curved = where_less(free, row.high, above_low, zero);
        write(v + i, slope, k);
        write(bent + i, curved, k);
        const Doubles conjugate = conjugate_of(slope, row.above, q - mu, row.below, r - mu), step = slope - center;
        losses += weight * (slope * x - conjugate - 0.5 * mu * step * step);
        slopes += weight * slope;
        sizes += weight * magnitude(slope);
        curvatures += curved;
        active += where_less(zero, curved, one, zero);
    });
    return {total(losses), total(slopes), total(sizes), total(curvatures), Size(total(active))};
}

// Return sums of weighted slopes, curvatures and curvatures again along a step g.
Sums along(Vector<const double> g, const double* c, const double* v, const double* bent) {
    Doubles slopes{}, squares{}, curvatures{};
    each<double>(0, g.size, [&](Size i, auto k) {
        const Doubles step = read(g.data + i, k), bend = read(bent + i, k) * step;
        slopes = fused(read(c + i, k) * read(v + i, k), step, slopes);
        squares = fused(bend, step, squares);
        curvatures += bend;
    });
    return {total(slopes), total(squares), total(curvatures)};
}

// Return the sums of losses, of conjugates, and of losses and conjugates less v t.
//
// Summands of the last are not negative, and lose no digits by a difference of sums. A value that is NaN has a cost that
// is NaN: it is on neither side.
Sums fenchel_young(Vector<const double> t, const double* v, const double* c, Parabolas p) {
    const Doubles zero{};
    Doubles losses{}, conjugates{}, young{};
    each<double>(0, t.size, [&](Size i, auto k) {
        const Rows row = read_rows(p, i, k);
        const Doubles x = read(t.data + i, k), slope = read(v + i, k), weight = read(c + i, k);
        const Doubles q = row.flat_above, r = row.flat_below;
        const Doubles right = cut_below(x - row.above), left = cut_above(x - row.below);
        const Doubles rise = where_less(zero, q, lesser(right / q, row.high), row.high);
        const Doubles fall = where_less(zero, r, greater(left / r, row.low), row.low);
        const Doubles loss = where_less(zero, right, rise * (right - 0.5 * q * rise), right) +
                             where_less(left, zero, fall * (left - 0.5 * r * fall), left);
        const Doubles conjugate = conjugate_of(slope, row.above, q, row.below, r);
        losses += weight * loss;
        conjugates += weight * conjugate;
        young += weight * cut_below(loss + conjugate - slope * x);
    });
    return {total(losses), total(conjugates), total(young)};
}

// Minus the logarithm of the likelihood of targets t between zero and one.
inline double unlikeliness(Vector<const double> x, const double* t, double a, double b) {
    double sum = 0.0;
    for (Size i = 0; i < x.size; i++) {
        const double r = a * x.data[i] + b;
        sum += greater_of(-r, 0.0) + __builtin_log1p(__builtin_exp(-__builtin_fabs(r))) + t[i] * r;
    }
    return sum;
}

// Return slope and offset of a sigmoid after up to so many Newton steps from a slope of zero.
//
// The curvature is at least `ridge`; steps end where less than `level` is to be gained.
Sums newton_loop(Vector<const double> x, const double* t, double b, Index steps, double ridge, double level) {
    double a = 0.0, now = unlikeliness(x, t, a, b);
    for (Index step = 0; step < steps; step++) {
        double ga = 0.0, gb = 0.0, hab = 0.0, haa = ridge, hbb = ridge;
        for (Size i = 0; i < x.size; i++) {
            const double p = 1.0 / (1.0 + __builtin_exp(a * x.data[i] + b)), g = t[i] - p, h = p * (1.0 - p);
            ga += g * x.data[i];
            gb += g;
            haa += h * x.data[i] * x.data[i];
            hab += h * x.data[i];
            hbb += h;
        }
        // The two equations of a step by Cramer's rule.
        const double det = haa * hbb - hab * hab;
        if (!(det > 0.0)) break;  // rounding: the curvature is there
        const double da = (hbb * ga - hab * gb) / det, db = (haa * gb - hab * ga) / det;
        const double slope = ga * da + gb * db;  // twice what is left to gain
        if (slope <= level) break;
        double length = 1.0, next = INFINITE;
        while (length > 1e-10) {
            next = unlikeliness(x, t, a - length * da, b - length * db);
            if (next <= now - 1e-4 * length * slope) break;
            length *= 0.5;
        }
        if (!(length > 1e-10)) break;
        a -= length * da, b -= length * db, now = next;
    }
    return {a, b, 0.0};
}

}  // namespace mercer::LEVEL
