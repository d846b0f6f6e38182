// Matern kernels of tiles in both precisions, from products of points in units of the length scale.
#pragma once
#include "radial.hpp"

namespace mercer::LEVEL {

// Distances beyond which values are zero: an infinite one times zero would be no number.
constexpr double MOST_DISTANCE = 2000.0;

// Write (1 + a) e^-a, or with `five` (1 + a + a^2 / 3) e^-a, in place of products: a^2 is 2 nu times the squared distance
// 2 (hx + hz - D), which rounding may have made negative.
template <bool five, class T>
void write_matern(Matrix<T> D, const T* hx, const T* hz) {
    for (Size i = 0; i < D.rows; i++) {
        T* d = D.data + i * D.stride;
        const T h = hx[i];
        write_row(d, D.columns, [=](Size j, auto k) {
            const Full<T> half = cut_below((h + read(hz + j, k)) - read(d + j, k));
            const Full<T> distance = root(T(five ? 10.0 : 6.0) * half), most = all<Full<T>>(T(MOST_DISTANCE));
            const Full<T> a = where_less(most, distance, most, distance);
            const Full<T> polynomial = five ? fused(T(1.0 / 3.0) * a, a, T(1.0) + a) : T(1.0) + a;
            return polynomial * power(T(-LOG2_E) * a);
        });
    }
}

// Do so for `twice` nu of 3 or 5.
template <class T>
void matern(Matrix<T> D, const T* hx, const T* hz, int twice) {
    twice == 3 ? write_matern<false>(D, hx, hz) : write_matern<true>(D, hx, hz);
}

}  // namespace mercer::LEVEL
