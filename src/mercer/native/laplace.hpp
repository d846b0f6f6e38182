// Passes over distances that are sums over the features: values of Laplacian kernels and their slopes.
//
// Points on the right are kept feature by feature, so that every loop runs over many of them; the sums of a run of columns
// stay in the fastest cache. The first `numbers` features are subtracted, the others are categories, equal or not.
#pragma once
#include "radial.hpp"

namespace mercer::LEVEL {

// Columns whose sums are held at once: enough for loops to pay, and with ten features in the cache.
constexpr Size SUM_COLUMNS = 1024;

// What a feature is: a number, a category, or a category where a point on either side may have a NaN.
enum class Feature { number, category, perhaps_nan };

// Return a sum less the distance of one feature.
template <Feature feature, class T>
inline Full<T> without(Full<T> sum, T x, Full<T> z, T factor) {
    if constexpr (feature == Feature::number) {
        return fused(-factor, magnitude(x - z), sum);
    } else if constexpr (feature == Feature::category) {
        return sum - where_unequal(all<Full<T>>(x), z, all<Full<T>>(factor));
    } else {
        // Equal or not; a NaN is neither.
        const Full<T> d = magnitude(x - z);
        return sum - where_less(Full<T>{}, d, all<Full<T>>(factor), d);
    }
}

// Subtract sum_q factor[q] |x[q] - z[q]| from t for some rows of X, of which t has `rows`, over features from `first` on.
//
// Four features of two rows at a time, because reading columns and sums costs as much as adding.
template <Feature feature, class T, int rows>
inline void subtract_features(const T* x, const T* y, const T* factor, Size first, Size last, Matrix<const T> columns,
                              Size begin, Size m, T* t, T* u) {
    Size q = first;
    for (; q + 4 <= last; q += 4) {
        const T* z[4];
        for (Size l = 0; l < 4; l++) z[l] = columns.data + (q + l) * columns.stride + begin;
        each<T>(0, m, [&](Size j, auto k) {
            const Full<T> c[4] = {read(z[0] + j, k), read(z[1] + j, k), read(z[2] + j, k), read(z[3] + j, k)};
            auto less = [&](const T* point, T* sums) {
                Full<T> sum = read(sums + j, k);
                for (Size l = 0; l < 4; l++) sum = without<feature>(sum, point[q + l], c[l], factor[q + l]);
                write(sums + j, sum, k);
            };
            less(x, t);
            if constexpr (rows == 2) less(y, u);
        });
    }
    for (; q < last; q++) {
        const T *z = columns.data + q * columns.stride + begin, f = factor[q];
        auto less = [&](T point, T* sums) {
            write_row(sums, m, [=](Size j, auto k) { return without<feature>(read(sums + j, k), point, read(z + j, k), f); });
        };
        less(x[q], t);
        if constexpr (rows == 2) less(y[q], u);
    }
}

// Do so over all features; `known` says that no category of the columns is NaN.
template <class T, int rows>
inline void subtract(const T* x, const T* y, const T* factor, Size p, Size numbers, Matrix<const T> columns, bool known,
                     Size begin, Size m, T* t, T* u) {
    subtract_features<Feature::number, T, rows>(x, y, factor, 0, numbers, columns, begin, m, t, u);
    for (Size q = numbers; q < p; q++) known = known && x[q] == x[q] && y[q] == y[q];
    if (known) {
        subtract_features<Feature::category, T, rows>(x, y, factor, numbers, p, columns, begin, m, t, u);
    } else {
        subtract_features<Feature::perhaps_nan, T, rows>(x, y, factor, numbers, p, columns, begin, m, t, u);
    }
}

// Whether no category of some columns is NaN.
template <class T>
inline bool are_known(Matrix<const T> columns, Size numbers, Size begin, Size m) {
    bool known = true;
    for (Size q = numbers; q < columns.rows; q++) {
        const T* z = columns.data + q * columns.stride + begin;
        Full<T> different{};
        each<T>(0, m, [&](Size j, auto k) {
            const Full<T> c = read(z + j, k);
            different += where_unequal(c, c, all<Full<T>>(T(1)));
        });
        known = known && total(different) == T(0);
    }
    return known;
}

// Write minus the distances of rows i and i + 1; of the last row only t.
template <class T>
inline void distances(Matrix<const T> X, Size i, const T* factor, Size numbers, Matrix<const T> columns, bool known,
                      Size begin, Size m, T* t, T* u) {
    const T *x = X.data + i * X.stride, *y = x + X.stride;
    for (Size j = 0; j < m; j++) t[j] = T(0);
    if (i + 1 < X.rows) {
        for (Size j = 0; j < m; j++) u[j] = T(0);
        subtract<T, 2>(x, y, factor, X.columns, numbers, columns, known, begin, m, t, u);
    } else {
        subtract<T, 1>(x, x, factor, X.columns, numbers, columns, known, begin, m, t, t);
    }
}

// Write 2^(-sum_q factor[q] |x[q] - z[q]|) for m columns from `start` on; row i of the result begins at out[i step].
template <class T>
void laplace(Matrix<const T> X, const T* factor, Size numbers, Matrix<const T> columns, Size start, Size m, T* out,
             Size step) {
    alignas(64) T t[2][SUM_COLUMNS];
    for (Size begin = 0; begin < m; begin += SUM_COLUMNS) {
        const Size width = lesser_of(SUM_COLUMNS, m - begin);
        const bool known = are_known(columns, numbers, start + begin, width);
        for (Size i = 0; i < X.rows; i += 2) {
            distances(X, i, factor, numbers, columns, known, start + begin, width, t[0], t[1]);
            for (Size r = i; r < lesser_of(i + 2, X.rows); r++) {
                const T* s = t[r - i];
                write_row(out + r * step + begin, width, [=](Size j, auto k) { return power(read(s + j, k)); });
            }
        }
    }
}

// Add kernel values of columns from `start` on, times weights a, to f without writing them.
void weigh_laplace(Matrix<const double> X, const double* factor, Size numbers, Matrix<const double> columns, Size start,
                   Vector<const double> a, double* f) {
    alignas(64) double t[2][RUN];
    for (Size begin = 0; begin < a.size; begin += RUN) {
        const Size width = lesser_of(RUN, a.size - begin);
        const bool known = are_known(columns, numbers, start + begin, width);
        for (Size i = 0; i < X.rows; i += 2) {
            distances(X, i, factor, numbers, columns, known, start + begin, width, t[0], t[1]);
            for (Size r = i; r < lesser_of(i + 2, X.rows); r++) {
                const double* s = t[r - i];
                f[r] += sum_run(0, width, a.data + begin, [=](Size j, auto k) { return power(read(s + j, k)); });
            }
        }
    }
}

// Add slopes of sum_ij G_ij K_ij over the pairs j < i of some rows i.
//
// The derivative by minus the factor of each feature; if `tied`, the sum of distances instead, in units of all factors.
void pull_back(Matrix<const double> X, const double* factor, Size numbers, Matrix<const double> columns,
               Matrix<const double> G, Size first, Size last, bool tied, double* sums) {
    alignas(64) double s[SUM_COLUMNS];
    for (Size begin = 0; begin < last; begin += SUM_COLUMNS) {
        const bool known = are_known(columns, numbers, begin, lesser_of(SUM_COLUMNS, last - begin));
        for (Size i = greater_of(first, begin + 1); i < last; i++) {
            const Size m = lesser_of(SUM_COLUMNS, i - begin);
            const double *x = X.data + i * X.stride, *g = G.data + i * G.stride + begin;
            for (Size j = 0; j < m; j++) s[j] = 0.0;
            subtract<double, 1>(x, x, factor, X.columns, numbers, columns, known, begin, m, s, s);
            if (tied) {
                sums[0] -= sum_run(0, m, g, [&](Size j, auto k) {
                    Doubles t = read(s + j, k);
                    return power(t) * t;
                });
                continue;
            }
            write_row(s, m, [&](Size j, auto k) { return read(g + j, k) * power(read(s + j, k)); });
            for (Size q = 0; q < X.columns; q++) {
                const double* z = columns.data + q * columns.stride + begin;
                const Doubles one = all<Doubles>(1.0);
                sums[q] += sum_run(0, m, s, [=](Size j, auto k) {
                    Doubles d = magnitude(x[q] - read(z + j, k));
                    return q < numbers ? d : where_less(Doubles{}, d, one, d);
                });
            }
        }
    }
}

}  // namespace mercer::LEVEL
