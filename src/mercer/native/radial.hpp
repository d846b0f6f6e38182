// Passes over a tile of inner products of points: kernel values of squared distances, and their weighted sums.
//
// The products d = <x, z> and half the squared norms hx, hz make t = d - hx - hz = -1/2 |x - z|^2. The Gaussian is 2^t in
// units that have log 2 in them; with a = sqrt(2 nu) |x - z| the Matern kernel is (1 + a) e^-a for nu = 3/2 and
// (1 + a + a^2 / 3) e^-a for nu = 5/2. Every pass keeps a NaN a NaN, so that bad input is noticed.
#pragma once
#include "exponential.hpp"

namespace mercer::LEVEL {

// Columns whose products with weights are summed apart: the same in a tile of any width, so that the sum of a row does
// not depend on how many rows came with it.
constexpr Size RUN = 256;
// Rows and columns of the squares that a symmetric matrix is mirrored in.
constexpr Size MIRROR_ROWS = 32;
constexpr double LOG2_E = 1.4426950408889634;

// Write the points in units around the origin, and half their squared norms.
template <class T, class U>
void in_units(Matrix<const T> X, const double* origin, const double* factor, Matrix<U> units, U* half) {
    for (Size i = 0; i < X.rows; i++) {
        const T* x = X.data + i * X.stride;
        U* u = units.data + i * units.stride;
        Full<double> squares{};
        each<double>(0, X.columns, [&](Size q, auto k) {
            Full<double> v = (read_double(x + q, k) - read(origin + q, k)) * read(factor + q, k);
            if constexpr (sizeof(U) == 4) {
                const HalfFloats rounded = narrow(v);
                store_some(u + q, rounded, k);
                v = widen(rounded);
            } else {
                write(u + q, v, k);
            }
            squares = fused(v, v, squares);
        });
        half[i] = U(0.5 * total(squares));
    }
}

// Write a row of m numbers: `function(j, k)` returns k of them from number j on.
template <class T, class Function>
inline void write_row(T* out, Size m, Function function) {
    each<T>(0, m, [&](Size j, auto k) { write(out + j, function(j, k), k); });
}

// Write 2^min(D - hx - hz, HIGHEST); row i of the result begins at out[i step].
template <class T>
void powers_of_two(Matrix<const T> D, const T* hx, const T* hz, T* out, Size step) {
    for (Size i = 0; i < D.rows; i++) {
        const T* d = D.data + i * D.stride;
        const T h = hx[i];
        write_row(out + i * step, D.columns, [=](Size j, auto k) { return power((read(d + j, k) - read(hz + j, k)) - h); });
    }
}

// Do the same in place.
template <class T>
void raise_two(Matrix<T> D, const T* hx, const T* hz) {
    powers_of_two<T>({D.data, D.rows, D.columns, D.stride}, hx, hz, D.data, D.stride);
}

// Change inner products into exponents, in place.
template <class T>
void exponents(Matrix<T> D, const T* hx, const T* hz) {
    for (Size i = 0; i < D.rows; i++) {
        T* d = D.data + i * D.stride;
        const T h = hx[i];
        write_row(d, D.columns, [=](Size j, auto k) { return cut_above((read(d + j, k) - read(hz + j, k)) - h); });
    }
}

// Compute entries not below `lowest`, one number a row, again from differences x - z.
//
// Row i of the m exponents, or with `exponential` of their powers of two, begins at values[i step]. Few are: 64 at a time
// are compared before one is looked at.
template <class T>
void repair(T* values, Size step, Size m, Matrix<const T> X, Matrix<const T> Z, const T* factor, Vector<const Index> rows,
            const T* lowest, bool exponential) {
    for (Size r = 0; r < rows.size; r++) {
        const Size i = Size(rows.data[r]);
        const T low = lowest[r], *x = X.data + i * X.stride;
        T* row = values + i * step;
        for (Size start = 0; start < m; start += 64) {
            const Size stop = lesser_of(start + 64, m);
            int n_found = 0;
            for (Size j = start; j < stop; j++) n_found += row[j] < low ? 0 : 1;
            if (n_found == 0) continue;
            for (Size j = start; j < stop; j++) {
                if (row[j] < low) continue;
                const T* z = Z.data + j * Z.stride;
                Full<T> squares{};
                each<T>(0, X.columns, [&](Size q, auto k) {
                    const Full<T> difference = (read(x + q, k) - read(z + q, k)) * read(factor + q, k);
                    squares = fused(difference, difference, squares);
                });
                const T t = T(-0.5) * total(squares);
                row[j] = exponential ? T(sizeof(T) == 4 ? __builtin_exp2f(float(t)) : __builtin_exp2(double(t))) : t;
            }
        }
    }
}

// Change one half of the products of points with themselves by `function(half squared distance)`, and mirror it.
//
// A few rows at a time, so that they are still in the cache when they are written as columns.
template <class Function>
inline void write_square(Matrix<double> D, const double* half, Function function) {
    const Size n = D.rows;
    for (Size first = 0; first < n; first += MIRROR_ROWS) {
        const Size end = lesser_of(first + MIRROR_ROWS, n);
        for (Size i = first; i < end; i++) {
            double* d = D.data + i * D.stride;
            const double h = half[i];
            write_row(d, i, [=](Size j, auto k) { return function((h + read(half + j, k)) - read(d + j, k)); });
            d[i] = 1.0;
        }
        for (Size left = 0; left < end; left += MIRROR_ROWS) {
            for (Size j = left; j < lesser_of(left + MIRROR_ROWS, end); j++) {
                double* d = D.data + j * D.stride;
                for (Size i = greater_of(first, j + 1); i < end; i++) d[i] = D.data[i * D.stride + j];
            }
        }
    }
}

using Doubles = Full<double>;

// Kernel values and slopes as functions of half the squared distance q.
inline Doubles gaussian(Doubles q) { return power(0.0 - q); }
inline Doubles distance(Doubles q, double twice) { return root(twice * 2.0 * cut_below(q)); }
inline Doubles decay(Doubles a) { return power(-LOG2_E * a); }
inline Doubles three_halves(Doubles q) {
    Doubles a = distance(q, 3.0);
    return (1.0 + a) * decay(a);
}
inline Doubles five_halves(Doubles q) {
    Doubles a = distance(q, 5.0);
    return fused((1.0 / 3.0) * a, a, 1.0 + a) * decay(a);
}

void raise_two_square(Matrix<double> D, const double* half) { write_square(D, half, gaussian); }

// Matern values for `twice` nu of 3 or 5.
void matern_square(Matrix<double> D, const double* half, int twice) {
    twice == 3 ? write_square(D, half, three_halves) : write_square(D, half, five_halves);
}

// Change products of rows, the one numbered `first` and those after it, with all up to them.
//
// Into 2 G_ij times minus twice the derivative of the kernel by the squared distance for j < i, and zero elsewhere: of a
// Matern kernel for `twice` nu of 3 or 5, of a Gaussian for 0.
void weigh_slopes(Matrix<double> D, const double* hx, const double* hz, Matrix<const double> G, Size first, int twice) {
    for (Size i = 0; i < D.rows; i++) {
        double* d = D.data + i * D.stride;
        const double *g = G.data + i * G.stride, h = hx[i];
        const Size last = lesser_of(first + i, D.columns);
        auto write = [&](auto slope) {
            write_row(d, last, [=](Size j, auto k) {
                return 2.0 * read(g + j, k) * slope((h + read(hz + j, k)) - read(d + j, k));
            });
        };
        if (twice == 0) {
            write([](Doubles q) { return power(-LOG2_E * cut_below(q)); });
        } else if (twice == 3) {
            write([](Doubles q) { return 3.0 * decay(distance(q, 3.0)); });
        } else {
            write([](Doubles q) {
                Doubles a = distance(q, 5.0);
                return (5.0 / 3.0) * (1.0 + a) * decay(a);
            });
        }
        for (Size j = last; j < D.columns; j++) d[j] = 0.0;
    }
}

// Add values times weights to f without writing the values: `value(j, k)` returns k of them from column j on.
template <class Value>
inline double sum_run(Size start, Size stop, const double* w, Value value) {
    constexpr Size N = COUNT<double>;
    Doubles sums[4] = {};
    Size j = start;
    for (; j + 4 * N <= stop; j += 4 * N) {
        for (Size l = 0; l < 4; l++) sums[l] = fused(value(j + l * N, Fixed<N>{}), load(w + j + l * N), sums[l]);
    }
    each<double>(j, stop, [&](Size i, auto k) { sums[0] = fused(value(i, k), read(w + i, k), sums[0]); });
    return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class Kernel>
inline void weigh_values(Matrix<const double> D, const double* hx, const double* hz, const double* w, double* f,
                         Kernel kernel) {
    for (Size i = 0; i < D.rows; i++) {
        const double *d = D.data + i * D.stride, h = hx[i];
        for (Size start = 0; start < D.columns; start += RUN) {
            f[i] += sum_run(start, lesser_of(start + RUN, D.columns), w,
                            [=](Size j, auto k) { return kernel(read(d + j, k), read(hz + j, k), h); });
        }
    }
}

void weigh_powers(Matrix<const double> D, const double* hx, const double* hz, const double* w, double* f) {
    weigh_values(D, hx, hz, w, f, [](Doubles d, Doubles z, double h) { return power((d - z) - h); });
}

void weigh_matern(Matrix<const double> D, const double* hx, const double* hz, const double* w, double* f, int twice) {
    auto add = [&](auto kernel) {
        weigh_values(D, hx, hz, w, f, [=](Doubles d, Doubles z, double h) { return kernel((h + z) - d); });
    };
    twice == 3 ? add(three_halves) : add(five_halves);
}

}  // namespace mercer::LEVEL
