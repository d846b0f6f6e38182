// Kernel values of packed points: products whose tiles become kernel values before they leave the registers.
//
// Points lie in groups, rows twelve and columns two full registers' worth at a time: feature by feature the numbers of a
// group side by side, and after the last feature half their squared norms. A tile is one group of either. Its values are
// stored, or weighed and summed: what is only summed never reaches memory, and takes less time than values that are read.
//
// Every product is summed feature by feature and every weighted sum row by row, twelve at a time in the precision of the
// points and then in double precision: neither the shape of a level's registers nor the division of work changes a bit.
#pragma once
#include "radial.hpp"

namespace mercer::LEVEL {

// Rows of a tile, and full registers of its columns.
constexpr Size TILE_ROWS = 12;
constexpr Size TILE_LANES = 2;
template <class T>
constexpr Size TILE_COLUMNS = TILE_LANES * COUNT<T>;

// The part of a tile whose sums fit into the registers of a level: 32, or 16 without AVX-512 and NEON.
#if defined(__AVX512F__)
constexpr Size PART_ROWS = 12, PART_LANES = 2;
#elif defined(__AVX2__) || defined(__ARM_NEON)
constexpr Size PART_ROWS = 6, PART_LANES = 1;
#else
constexpr Size PART_ROWS = 3, PART_LANES = 1;
#endif

// Bytes of columns that stay in the second cache while all rows pass by.
constexpr Size COLUMN_BYTES = 262144;

// Kernel values of a tile from products d and half squared norms hx, hz.
template <class T>
struct GaussianValue {
    Full<T> operator()(Full<T> d, Full<T> hz, T hx) const { return power((d - hz) - hx); }
};
template <class T, int twice>
struct MaternValue {
    Full<T> operator()(Full<T> d, Full<T> hz, T hx) const {
        const Full<T> a = root(T(2 * twice) * cut_below((hx + hz) - d)), decay = power(T(-LOG2_E) * a);
        const Full<T> first = T(1) + a;
        return (twice == 3 ? first : fused(T(1.0 / 3.0) * a, a, first)) * decay;
    }
};
template <class T>
struct LinearValue {
    Full<T> operator()(Full<T> d, Full<T>, T) const { return d; }
};
template <class T>
struct PolynomialValue {
    T offset;
    Index degree;
    Full<T> operator()(Full<T> d, Full<T>, T) const {
        Full<T> base = d + offset, value = all<Full<T>>(T(1));
        for (Index left = degree; left > 0; left /= 2, base = base * base) {
            if (left % 2) value = value * base;
        }
        return value;
    }
};

// Call `body` with the kernel of that number: twice the nu of a Matern kernel, 0 for the Gaussian, minus the degree of a
// polynomial.
template <class T, class Body>
inline void with_kernel(Index number, double offset, Body body) {
    if (number == 0) {
        body(GaussianValue<T>{});
    } else if (number == 3) {
        body(MaternValue<T, 3>{});
    } else if (number == 5) {
        body(MaternValue<T, 5>{});
    } else if (number == -1 && offset == 0.0) {
        body(LinearValue<T>{});
    } else {
        body(PolynomialValue<T>{T(offset), -number});
    }
}

// Compute a tile and hand its values on, row by row for each full register of columns: `use(row, lane, values)`.
template <class T, class Kernel, class Use>
inline void tile(const T* x, const T* z, Size p, Kernel kernel, Use use) {
    const T *hx = x + p * TILE_ROWS, *hz = z + p * TILE_COLUMNS<T>;
    for (Size lane = 0; lane < TILE_LANES; lane += PART_LANES) {
        for (Size row = 0; row < TILE_ROWS; row += PART_ROWS) {
            Full<T> products[PART_ROWS][PART_LANES] = {};
            const T *xs = x + row, *zs = z + lane * COUNT<T>;
            for (Size k = 0; k < p; k++, xs += TILE_ROWS, zs += TILE_COLUMNS<T>) {
                Full<T> columns[PART_LANES];
#pragma GCC unroll 4
                for (Size l = 0; l < PART_LANES; l++) columns[l] = load(zs + l * COUNT<T>);
#pragma GCC unroll 16
                for (Size i = 0; i < PART_ROWS; i++) {
                    const Full<T> number = all<Full<T>>(xs[i]);
#pragma GCC unroll 4
                    for (Size l = 0; l < PART_LANES; l++) products[i][l] = fused(number, columns[l], products[i][l]);
                }
            }
#pragma GCC unroll 4
            for (Size l = 0; l < PART_LANES; l++) {
                const Full<T> norms = load(hz + (lane + l) * COUNT<T>);
#pragma GCC unroll 16
                for (Size i = 0; i < PART_ROWS; i++) use(row + i, lane + l, kernel(products[i][l], norms, hx[row + i]));
            }
        }
    }
}

// Call `body(row group, column group)` for all, as many columns at a time as stay in the cache.
template <class T, class Body>
inline void each_tile(Matrix<const T> x, Matrix<const T> z, Body body) {
    const Size width = greater_of<Size>(1, COLUMN_BYTES / greater_of<Size>(1, sizeof(T) * z.columns));
    for (Size first = 0; first < z.rows; first += width) {
        const Size last = lesser_of(first + width, z.rows);
        for (Size g = 0; g < x.rows; g++) {
            for (Size c = first; c < last; c++) body(g, c);
        }
    }
}

// Add sums of kernel values, weighted row by row, to one or two vectors: a weight for every row of a group, a sum for
// every column of one.
template <class T>
void weigh_tiles(Matrix<const T> x, Matrix<const T> z, Matrix<const T> weights, Matrix<double> sums, Index number,
                 double offset) {
    const Size p = z.columns / TILE_COLUMNS<T> - 1;
    auto run = [&](auto kernel, auto vectors) {
        constexpr Size N = vectors;
        each_tile(x, z, [&](Size g, Size c) {
            Full<T> totals[N][TILE_LANES] = {};
            const T* w = weights.data + g * TILE_ROWS;
            tile(x.data + g * x.stride, z.data + c * z.stride, p, kernel, [&](Size i, Size l, Full<T> value) {
#pragma GCC unroll 2
                for (Size v = 0; v < N; v++) totals[v][l] = fused(w[v * weights.stride + i], value, totals[v][l]);
            });
            for (Size v = 0; v < N; v++) {
                double* to = sums.data + v * sums.stride + c * TILE_COLUMNS<T>;
                for (Size l = 0; l < TILE_LANES; l++) add_to(to + l * COUNT<T>, totals[v][l], Fixed<COUNT<T>>{});
            }
        });
    };
    with_kernel<T>(number, offset, [&](auto kernel) {
        weights.rows == 2 ? run(kernel, Fixed<2>{}) : run(kernel, Fixed<1>{});
    });
}

// Write a value, or its part of 65,535, rounded: none is then off by more than 8e-6.
template <class T, class K>
inline void keep_value(T* to, Full<T> value, K k) {
    write(to, value, k);
}
template <class K>
inline void keep_value(std::uint16_t* to, Full<float> value, K k) {
    const Full<float> whole = lesser(fused(all<Full<float>>(WHOLE), value, all<Full<float>>(0.5f)), all<Full<float>>(WHOLE));
    if constexpr (std::is_same_v<K, Size>) {
        std::uint16_t last[COUNT<float>];
        store_shorts(last, whole);
        for (Size i = 0; i < k; i++) to[i] = last[i];
    } else {
        store_shorts(to, whole);
    }
}

// Write kernel values: row i of the packed ones to row places[i] of a matrix, as many columns as it has.
template <class T, class Out>
void fill_tiles(Matrix<const T> x, Matrix<const T> z, Vector<const Index> places, Matrix<Out> out, Index number,
                double offset) {
    const Size p = z.columns / TILE_COLUMNS<T> - 1;
    with_kernel<T>(number, offset, [&](auto kernel) {
        each_tile(x, z, [&](Size g, Size c) {
            const Size rows = lesser_of(TILE_ROWS, places.size - g * TILE_ROWS), first = c * TILE_COLUMNS<T>;
            const Index* place = places.data + g * TILE_ROWS;
            tile(x.data + g * x.stride, z.data + c * z.stride, p, kernel, [&](Size i, Size l, Full<T> value) {
                const Size column = first + l * COUNT<T>;
                if (i >= rows || column >= out.columns) return;
                Out* to = out.data + Size(place[i]) * out.stride + column;
                const Size left = out.columns - column;
                left >= COUNT<T> ? keep_value(to, value, Fixed<COUNT<T>>{}) : keep_value(to, value, left);
            });
        });
    });
}

}  // namespace mercer::LEVEL
