// Coordinate descent for linear machines: weights of features, and no kernel value.
//
// The intercept is the weight of a last column that is `bias` in every row. Rows are visited in random order, and rows at
// rest are left aside until all others are solved (Hsieh and others, 2008). A call ends after a budget of nonzeros, and
// goes on from its arrays where it is called again.
#pragma once
#include "pairs.hpp"
#include "sums.hpp"

namespace mercer::LEVEL {

// Rows ahead of the one at work, whose memory is asked for: they lie anywhere.
constexpr Size ROWS_AHEAD = 4;
constexpr Size CACHE_LINE = 64;

inline Size draw(Unsigned& seed, Size n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return Size(seed % n);
}

template <class I>
inline void exchange(I& x, I& y) {
    const I z = x;
    x = y, y = z;
}

template <class I>
inline void shuffle(I* order, Size n, Unsigned& seed) {
    for (Size k = 0; k + 1 < n; k++) exchange(order[k], order[k + draw(seed, n - k)]);
}

// A row of values; without columns it is dense.
template <class T>
struct Row {
    const T* values;
    const std::uint32_t* columns;
    Size length;
};

template <class T>
inline Row<T> row_of(const Factor<T>& X, Size i, Size width) {
    const Size first = X.starts[i];
    return {X.values + first, X.columns + first, X.sparse ? Size(X.starts[i + 1]) - first : width};
}

template <class T>
inline void prefetch(const Row<T>& row) {
    const char* values = reinterpret_cast<const char*>(row.values);
    const char* columns = reinterpret_cast<const char*>(row.columns);
    for (Size line = 0; line < 2; line++) {
        __builtin_prefetch(values + line * CACHE_LINE), __builtin_prefetch(columns + line * CACHE_LINE);
    }
}

// A vector of one number a class; of a single class it is a number.
template <class W, Size L>
struct SideBySide {
    using type = Lanes<W, L * sizeof(W)>;
    static type read(const W* p) { return load_lanes<W, L * sizeof(W)>(p); }
    static void write(W* p, type x) { store(p, x); }
};
template <class W>
struct SideBySide<W, 1> {
    using type = W;
    static W read(const W* p) { return *p; }
    static void write(W* p, W x) { *p = x; }
};

// Decision values of a row, one a class.
template <Size L, class T, class W>
inline typename SideBySide<W, L>::type decide(const Row<T>& row, bool sparse, const W* weights, Size width, W bias) {
    using S = SideBySide<W, L>;
    using V = typename S::type;
    V f = bias * S::read(weights + width * L);
    if constexpr (L == 1 && std::is_same_v<W, double>) {
        if (!sparse) return f + sum_run(0, row.length, weights, [=](Size j, auto n) { return read_double(row.values + j, n); });
    }
    // Four sums that do not wait for each other.
    V f_1{}, f_2{}, f_3{};
    auto at = [&](Size j) { return S::read(weights + (sparse ? Size(row.columns[j]) : j) * L); };
    Size j = 0;
    for (; j + 4 <= row.length; j += 4) {
        f = fused(W(row.values[j]), at(j), f);
        f_1 = fused(W(row.values[j + 1]), at(j + 1), f_1);
        f_2 = fused(W(row.values[j + 2]), at(j + 2), f_2);
        f_3 = fused(W(row.values[j + 3]), at(j + 3), f_3);
    }
    for (; j < row.length; j++) f = fused(W(row.values[j]), at(j), f);
    return f + f_1 + (f_2 + f_3);
}

// Add a multiple of a row to the weights of all classes.
template <Size L, class T, class W>
inline void add_row(const Row<T>& row, bool sparse, W* weights, Size width, W bias, typename SideBySide<W, L>::type step) {
    using S = SideBySide<W, L>;
    S::write(weights + width * L, fused(bias, step, S::read(weights + width * L)));
    if constexpr (L == 1 && std::is_same_v<W, double>) {
        if (!sparse) {
            write_row(weights, row.length, [=](Size j, auto n) {
                return fused(step, read_double(row.values + j, n), read(weights + j, n));
            });
            return;
        }
    }
    for (Size j = 0; j < row.length; j++) {
        W* w = weights + (sparse ? Size(row.columns[j]) : j) * L;
        S::write(w, fused(W(row.values[j]), step, S::read(w)));
    }
}

// One coefficient of a loss of the margin for every class: 0 <= a <= upper, and D a^2 / 2 in the dual.
//
// A row of terms is upper bound, D and 1 / (square + D), where the row is not of the class and where it is.
template <class W, Size L>
struct MarginStep {
    static constexpr Size TERMS = 6;
    // Marks of the classes for which the row rests; `step` is what weights move along the row.
    static std::uint32_t move(const W* f, std::uint32_t positive, std::uint32_t mask, const W* terms, W* coefs, const W* limits,
                              W* worst, W* step, bool& moves) {
        std::uint32_t rests = 0, moved = 0;
        for (Size k = 0; k < L; k++) {
            const bool own = positive >> k & 1, live = mask >> k & 1;
            const W upper = own ? terms[3] : terms[0], D = own ? terms[4] : terms[1], inverse = own ? terms[5] : terms[2];
            const W sign = own ? W(1) : W(-1), a = coefs[k];
            const W g = sign * f[k] - W(1) + D * a;
            const W up = a < upper ? -g : W(-INFINITE), down = a > W(0) ? g : W(-INFINITE);
            const W violation = up > down ? up : down;
            W to = a - g * inverse;
            to = to < W(0) ? W(0) : to;
            to = to > upper ? upper : to;
            const W change = live ? to - a : W(0);
            worst[k] = live && violation > worst[k] ? violation : worst[k];
            rests |= std::uint32_t(live && violation < -limits[k]) << k;
            moved |= std::uint32_t(change != W(0)) << k;
            coefs[k] = a + change, step[k] = sign * change;
        }
        moves = moved != 0;
        return rests;
    }
};

// The coefficient of a loss of the residual: -c <= a <= c, with epsilon |a| + D a^2 / 2 - y a in the dual.
//
// A row of terms is c, D, 1 / (square + D), y, epsilon and square.
template <class W>
struct ResidualStep {
    static constexpr Size TERMS = 6;
    static std::uint32_t move(const W* f, std::uint32_t, std::uint32_t, const W* terms, W* coefs, const W* limits, W* worst, W* step,
                              bool& moves) {
        const W c = terms[0], D = terms[1], inverse = terms[2], epsilon = terms[4], square = terms[5], a = coefs[0];
        const W r = f[0] - terms[3], g = r + D * a;
        const W right = a >= W(0) ? g + epsilon : g - epsilon, left = a > W(0) ? g + epsilon : g - epsilon;
        const W up = a < c ? -right : W(-INFINITE), down = a > -c ? left : W(-INFINITE);
        const W violation = up > down ? up : down;
        if (violation <= W(0)) return violation < -limits[0];
        worst[0] = violation > worst[0] ? violation : worst[0];
        const W target = square * a - r;
        W to = target > epsilon ? (target - epsilon) * inverse : target < -epsilon ? (target + epsilon) * inverse : W(0);
        to = to < -c ? -c : to > c ? c : to;
        step[0] = to - a, coefs[0] = to, moves = step[0] != W(0);
        return 0;
    }
};

// Lower the duals of up to L classes over the same rows, until all are solved or the budget is spent.
//
// `state` holds where the pass is, the rows at work, marks of the classes that are not solved, a seed, and passes so far.
template <Size L, class Step, class T, class W>
void descend_rows(Factor<T> X, Classes<W> s, double tol, Size max_passes, Size budget) {
    const Size n = s.order.size, width = s.weights.rows - 1;
    Unsigned &position = s.state[0], &active = s.state[1], &open = s.state[2], &seed = s.state[3], &passes = s.state[4];
    std::uint32_t* order = s.order.data;
    const W bias = W(s.bias);
    Size spent = 0;
    while (open && passes < max_passes) {
        if (position == 0) {
            shuffle(order, active, seed);
            for (Size k = 0; k < L; k++) s.worst[k] = W(0);
        }
        while (position < active) {
            if (spent >= budget) return;
            const Size i = order[position];
            const std::uint32_t mask = s.awake[i] & std::uint32_t(open);
            if (mask == 0) {
                exchange(order[position], order[--active]);
                continue;
            }
            if (position + ROWS_AHEAD < active) {
                const Size ahead = order[position + ROWS_AHEAD];
                prefetch(row_of(X, ahead, width));
                __builtin_prefetch(s.coefs.data + ahead * L), __builtin_prefetch(s.terms.data + ahead * Step::TERMS);
            }
            const Row<T> row = row_of(X, i, width);
            W f[L], step[L] = {};
            SideBySide<W, L>::write(f, decide<L>(row, X.sparse, s.weights.data, width, bias));
            bool moves = false;
            s.awake[i] &= ~Step::move(f, s.positive[i], mask, s.terms.data + i * Step::TERMS, s.coefs.data + i * L, s.limits, s.worst,
                                      step, moves);
            if (moves) add_row<L>(row, X.sparse, s.weights.data, width, bias, SideBySide<W, L>::read(step));
            if (s.awake[i] & open) {
                position++;
            } else {
                exchange(order[position], order[--active]);
            }
            spent += row.length + 1;
        }
        position = 0, passes++;
        bool wake = false;
        for (Size k = 0; k < s.count; k++) {
            const std::uint32_t bit = std::uint32_t(1) << k;
            if (!(open & bit)) continue;
            if (s.worst[k] > W(tol)) {
                s.limits[k] = s.worst[k];
            } else if (s.limits[k] == W(INFINITE)) {
                open &= ~Unsigned(bit);
            } else {
                // Solved over the rows at work: all others are looked at again.
                for (Size i = 0; i < n; i++) s.awake[i] |= bit;
                s.limits[k] = W(INFINITE), wake = true;
            }
        }
        if (wake) active = n;
    }
}

// Lower |w|_1 + sum_i c_i max(0, slack_i)^2 along one weight after the other, slack_i = 1 - y_i w'x_i.
//
// Columns of `X` are features times the labels. `state` is that of `descend_rows`, for columns; worst is the largest violation.
template <class T>
void descend_columns(Factor<T> X, Columns s, double tol, Size max_passes, Size budget) {
    constexpr double SUFFICIENT = 0.01, SHORTER = 0.5, FLAT = 1e-12;
    constexpr int MAX_STEPS = 20;
    const Size d = s.order.size, n = s.slack.size;
    Unsigned &position = s.state[0], &active = s.state[1], &open = s.state[2], &seed = s.state[3], &passes = s.state[4];
    std::uint32_t* order = s.order.data;
    double* slack = s.slack.data;
    Size spent = 0;
    while (open && passes < max_passes) {
        if (position == 0) {
            shuffle(order, active, seed);
            *s.worst = 0.0;
        }
        while (position < active) {
            if (spent >= budget) return;
            const Size j = order[position];
            const Row<T> column = row_of(X, j, n);
            auto at = [&](Size k) { return X.sparse ? Size(column.columns[k]) : k; };
            double slope = 0.0, bend = 0.0;
            for (Size k = 0; k < column.length; k++) {
                const Size i = at(k);
                if (!(slack[i] > 0.0)) continue;
                const double x = double(column.values[k]), cx = s.c[i] * x;
                slope -= 2.0 * cx * slack[i], bend += 2.0 * cx * x;
            }
            bend = greater_of(bend, FLAT);
            spent += column.length + 1;
            const double w = s.weights[j], right = slope + 1.0, left = slope - 1.0;
            double violation = 0.0;
            if (w > 0.0) {
                violation = right < 0.0 ? -right : right;
            } else if (w < 0.0) {
                violation = left < 0.0 ? -left : left;
            } else if (right < 0.0) {
                violation = -right;
            } else if (left > 0.0) {
                violation = left;
            } else if (right > *s.limit && left < -*s.limit) {
                exchange(order[position], order[--active]);
                continue;
            }
            position++;
            *s.worst = greater_of(*s.worst, violation);
            double step = -w;
            if (right < bend * w) {
                step = -right / bend;
            } else if (left > bend * w) {
                step = -left / bend;
            }
            if (step == 0.0) continue;
            // The change of |w|_1 and the slope promise a decrease; a part of it is enough.
            double promise = (w + step < 0.0 ? -w - step : w + step) - (w < 0.0 ? -w : w) + slope * step;
            for (int attempt = 0; attempt < MAX_STEPS; attempt++) {
                double change = (w + step < 0.0 ? -w - step : w + step) - (w < 0.0 ? -w : w);
                for (Size k = 0; k < column.length; k++) {
                    const Size i = at(k);
                    const double before = slack[i] > 0.0 ? slack[i] : 0.0, moved = slack[i] - step * double(column.values[k]);
                    const double after = moved > 0.0 ? moved : 0.0;
                    change += s.c[i] * (after - before) * (after + before);
                }
                spent += column.length;
                if (change <= SUFFICIENT * promise) {
                    for (Size k = 0; k < column.length; k++) slack[at(k)] -= step * double(column.values[k]);
                    s.weights[j] = w + step;
                    break;
                }
                step *= SHORTER, promise *= SHORTER;
            }
        }
        position = 0, passes++;
        if (*s.worst > tol) {
            *s.limit = *s.worst / double(n);
        } else if (*s.limit == INFINITE) {
            open = 0;
        } else {
            *s.limit = INFINITE, active = d;
        }
    }
}

// Lower the dual of Crammer's and Singer's machine, all classes of one row after the other.
//
// Coefficients of a row add up to zero; that of its class is at most c_i, all others are not positive (Keerthi and others, 2008).
template <class T>
void descend_coupled(Factor<T> X, Coupled s, double tol, Size max_passes, Size budget) {
    const Size classes = s.weights.columns, width = s.weights.rows - 1;
    Unsigned &position = s.state[0], &active = s.state[1], &open = s.state[2], &seed = s.state[3], &passes = s.state[4];
    std::uint32_t* order = s.order.data;
    double *f = s.room, *target = s.room + classes, *sorted = s.room + 2 * classes;
    Size spent = 0;
    auto for_weights = [&](const Row<T>& row, auto visit) {
        for (Size k = 0; k < row.length; k++) visit(double(row.values[k]), s.weights.data + (X.sparse ? Size(row.columns[k]) : k) * classes);
        visit(s.bias, s.weights.data + width * classes);
    };
    while (open && passes < max_passes) {
        if (position == 0) {
            shuffle(order, active, seed);
            *s.worst = 0.0;
        }
        while (position < active) {
            if (spent >= budget) return;
            const Size i = order[position], own = s.labels[i];
            if (position + ROWS_AHEAD < active) prefetch(row_of(X, order[position + ROWS_AHEAD], width));
            const Row<T> row = row_of(X, i, width);
            const double c = s.c[i], square = s.squares[i];
            double* a = s.coefs.data + i * classes;
            spent += (row.length + 1) * classes;
            // Gradients: decision values, and one for the classes that the row is not of.
            for (Size k = 0; k < classes; k++) f[k] = k == own ? 0.0 : 1.0;
            for_weights(row, [&](double x, const double* w) {
                for (Size k = 0; k < classes; k++) f[k] += x * w[k];
            });
            double least_free = INFINITE, largest = -INFINITE, other = -INFINITE;
            for (Size k = 0; k < classes; k++) {
                largest = greater_of(largest, f[k]);
                if (k != own) other = greater_of(other, f[k]);
                if (a[k] < (k == own ? c : 0.0)) least_free = lesser_of(least_free, f[k]);
            }
            const double violation = largest - least_free;
            if (!(violation > 0.0)) {
                // At rest without coefficients, by more than others violate.
                if (a[own] == 0.0 && f[own] - other > *s.limit) {
                    exchange(order[position], order[--active]);
                } else {
                    position++;
                }
                continue;
            }
            position++;
            *s.worst = greater_of(*s.worst, violation);
            if (!(square > 0.0) || !(c > 0.0)) continue;
            for (Size k = 0; k < classes; k++) {
                target[k] = f[k] - square * a[k];
                sorted[k] = target[k] + (k == own ? square * c : 0.0);
            }
            // The level at which the coefficients add up to zero: insertion into a falling order.
            for (Size k = 1; k < classes; k++) {
                const double x = sorted[k];
                Size place = k;
                for (; place > 0 && sorted[place - 1] < x; place--) sorted[place] = sorted[place - 1];
                sorted[place] = x;
            }
            double level = sorted[0] - square * c;
            Size r = 1;
            for (; r < classes && level < double(r) * sorted[r]; r++) level += sorted[r];
            level /= double(r);
            bool moves = false;
            for (Size k = 0; k < classes; k++) {
                const double to = lesser_of(k == own ? c : 0.0, (level - target[k]) / square);
                target[k] = to - a[k], a[k] = to;
                moves = moves || target[k] != 0.0;
            }
            if (!moves) continue;
            for_weights(row, [&](double x, double* w) {
                for (Size k = 0; k < classes; k++) w[k] += x * target[k];
            });
        }
        position = 0, passes++;
        if (*s.worst > tol) {
            *s.limit = *s.worst;
        } else if (*s.limit == INFINITE) {
            open = 0;
        } else {
            *s.limit = INFINITE, active = s.order.size;
        }
    }
}

template <class T, class W>
void descend_classes(Factor<T> X, Classes<W> s, double tol, Size max_passes, Size budget) {
    switch (s.weights.columns) {
        case 1: return descend_rows<1, MarginStep<W, 1>>(X, s, tol, max_passes, budget);
        case 4: return descend_rows<4, MarginStep<W, 4>>(X, s, tol, max_passes, budget);
        case 8: return descend_rows<8, MarginStep<W, 8>>(X, s, tol, max_passes, budget);
        default: return descend_rows<16, MarginStep<W, 16>>(X, s, tol, max_passes, budget);
    }
}

template <class T, class W>
void descend_targets(Factor<T> X, Classes<W> s, double tol, Size max_passes, Size budget) {
    descend_rows<1, ResidualStep<W>>(X, s, tol, max_passes, budget);
}

}  // namespace mercer::LEVEL
