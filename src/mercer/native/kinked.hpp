// Losses of rows whose conjugates are two parabolas that meet at zero, and Newton's method for a sigmoid.
//
// Arrays have one number for each row: slopes of the conjugate above and below zero, its curvatures there (`flat`, because
// the loss is as flat), and the smallest and largest slope of the loss.
#pragma once
#include "pairs.hpp"

namespace mercer::LEVEL {

// Sums of rows in four parts that do not wait for each other, added in one order.
template <int n, class Row>
inline void sum_rows(Size size, double (&out)[n], Row row) {
    double parts[4][n] = {};
    Size i = 0;
    for (; i + 4 <= size; i += 4) {
        for (Size l = 0; l < 4; l++) row(i + l, parts[l]);
    }
    for (; i < size; i++) row(i, parts[0]);
    for (int k = 0; k < n; k++) out[k] = (parts[0][k] + parts[1][k]) + (parts[2][k] + parts[3][k]);
}

// Write slopes of rounded losses and their weighted curvatures; return sums of losses, of weighted slopes and their sizes,
// of curvatures, and the number of rows that have one.
//
// The loss at t is the largest of v t - l*(v) - mu / 2 (v - v0)^2, l* the conjugate.
RoundedSums rounded(Vector<const double> t, const double* v0, double mu, const double* c, Parabolas p, double* v,
                    double* bent) {
    double sums[5];
    sum_rows(t.size, sums, [&](Size i, double* sum) {
        const double up = p.above[i], down = p.below[i], q = p.flat_above[i] + mu, r = p.flat_below[i] + mu;
        const double z = t.data[i] + mu * v0[i];
        const double right = greater_of(z - up, 0.0), left = lesser_of(z - down, 0.0);
        const double free = right / q + left / r;
        const double slope = lesser_of(greater_of(free, p.low[i]), p.high[i]);
        v[i] = slope;
        const bool inside = free > p.low[i] && free < p.high[i] && right > left;
        const double curved = inside ? c[i] / (right > 0.0 ? q : r) : 0.0;
        bent[i] = curved;
        const double conjugate = greater_of(slope, 0.0) * (up + 0.5 * (q - mu) * slope) +
                                 lesser_of(slope, 0.0) * (down + 0.5 * (r - mu) * slope);
        const double step = slope - v0[i];
        sum[0] += c[i] * (slope * t.data[i] - conjugate - 0.5 * mu * step * step);
        sum[1] += c[i] * slope;
        sum[2] += c[i] * __builtin_fabs(slope);
        sum[3] += curved;
        sum[4] += curved > 0.0 ? 1.0 : 0.0;
    });
    return {sums[0], sums[1], sums[2], sums[3], Size(sums[4])};
}

// Return sums of weighted slopes, curvatures and curvatures again along a step g.
Sums along(Vector<const double> g, const double* c, const double* v, const double* bent) {
    double sums[3];
    sum_rows(g.size, sums, [&](Size i, double* sum) {
        const double step = g.data[i];
        sum[0] += c[i] * v[i] * step;
        sum[1] += bent[i] * step * step;
        sum[2] += bent[i] * step;
    });
    return {sums[0], sums[1], sums[2]};
}

// Return the sums of losses, of conjugates, and of losses and conjugates less v t.
//
// Summands of the last are not negative, and lose no digits by a difference of sums. A value that is NaN has a cost that
// is NaN: comparisons are such that it takes neither side.
Sums fenchel_young(Vector<const double> t, const double* v, const double* c, Parabolas p) {
    double sums[3];
    sum_rows(t.size, sums, [&](Size i, double* sum) {
        const double x = t.data[i], up = p.above[i], down = p.below[i], q = p.flat_above[i], r = p.flat_below[i];
        const double right = x <= up ? 0.0 : x - up, left = x >= down ? 0.0 : x - down;
        const double rise = q > 0.0 ? lesser_of(right / q, p.high[i]) : p.high[i];
        const double fall = r > 0.0 ? greater_of(left / r, p.low[i]) : p.low[i];
        double loss = right <= 0.0 ? 0.0 : rise * (right - 0.5 * q * rise);
        loss += left >= 0.0 ? 0.0 : fall * (left - 0.5 * r * fall);
        const double conjugate = greater_of(v[i], 0.0) * (up + 0.5 * q * v[i]) + lesser_of(v[i], 0.0) * (down + 0.5 * r * v[i]);
        const double gap = loss + conjugate - v[i] * x;
        sum[0] += c[i] * loss;
        sum[1] += c[i] * conjugate;
        sum[2] += gap <= 0.0 ? 0.0 : c[i] * gap;
    });
    return {sums[0], sums[1], sums[2]};
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
