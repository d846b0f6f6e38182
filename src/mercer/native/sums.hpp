// Products of kernel values with weights, summed in double precision, and copies of parts of a kernel matrix.
#pragma once
#include "radial.hpp"

namespace mercer::LEVEL {

// Columns summed at once: their sums stay in the fastest cache while rows pass by.
constexpr Size PASS_COLUMNS = 2048;

// Add K a to f.
template <class T>
void weigh(Matrix<const T> K, const double* a, double* f) {
    for (Size i = 0; i < K.rows; i++) {
        const T* row = K.data + i * K.stride;
        for (Size start = 0; start < K.columns; start += RUN) {
            f[i] += sum_run(start, lesser_of(start + RUN, K.columns), a,
                            [=](Size j, auto k) { return read_double(row + j, k); });
        }
    }
}

// Add K a to f, in double precision, and K w to e, summed in single.
void weigh_and_bound(Matrix<const float> K, const double* a, const float* w, double* f, double* e) {
    for (Size i = 0; i < K.rows; i++) {
        const float* row = K.data + i * K.stride;
        f[i] += sum_run(0, K.columns, a, [=](Size j, auto k) { return read_double(row + j, k); });
        Full<float> sizes[4] = {};
        constexpr Size N = COUNT<float>;
        Size start = 0;
        for (; start + 4 * N <= K.columns; start += 4 * N) {
            for (Size l = 0; l < 4; l++) sizes[l] = fused(load(row + start + l * N), load(w + start + l * N), sizes[l]);
        }
        each<float>(start, K.columns, [&](Size j, auto k) { sizes[0] = fused(read(row + j, k), read(w + j, k), sizes[0]); });
        e[i] += double(total((sizes[0] + sizes[1]) + (sizes[2] + sizes[3])));
    }
}

// Add K a to f and K' b to g, reading the first m columns of K once.
//
// Four rows at a time, so that reading and writing g costs a quarter.
template <class T>
void weigh_both(Matrix<const T> K, Size m, const double* a, double* f, const double* b, double* g) {
    const Size fours = K.rows - K.rows % 4;
    for (Size begin = 0; begin < m; begin += PASS_COLUMNS) {
        const Size end = lesser_of(begin + PASS_COLUMNS, m);
        for (Size i = 0; i < fours; i += 4) {
            const T* r[4];
            for (Size l = 0; l < 4; l++) r[l] = K.data + (i + l) * K.stride;
            Doubles t[4] = {};
            each<double>(begin, end, [&](Size j, auto k) {
                const Doubles x = read(a + j, k);
                Doubles v[4];
                for (Size l = 0; l < 4; l++) {
                    v[l] = read_double(r[l] + j, k);
                    t[l] = fused(v[l], x, t[l]);
                }
                const Doubles sum = fused(b[i], v[0], b[i + 1] * v[1]) + fused(b[i + 2], v[2], b[i + 3] * v[3]);
                write(g + j, read(g + j, k) + sum, k);
            });
            for (Size l = 0; l < 4; l++) f[i + l] += total(t[l]);
        }
        for (Size i = fours; i < K.rows; i++) {
            const T* row = K.data + i * K.stride;
            Doubles sum{};
            each<double>(begin, end, [&](Size j, auto k) {
                const Doubles value = read_double(row + j, k);
                sum = fused(value, read(a + j, k), sum);
                write(g + j, fused(b[i], value, read(g + j, k)), k);
            });
            f[i] += total(sum);
        }
    }
}

// Add numbers to as many doubles.
template <class K>
inline void add_to(double* out, Full<double> x, K k) {
    write(out, read(out, k) + x, k);
}
template <class K>
inline void add_to(double* out, Full<float> x, K k) {
    if constexpr (std::is_same_v<K, Size>) {
        const Size low = lesser_of(k, COUNT<double>);
        add_to(out, widen(low_half(x)), low);
        if (k > low) add_to(out + low, widen(high_half(x)), k - low);
    } else {
        store(out, load(out) + widen(low_half(x)));
        store(out + COUNT<double>, load(out + COUNT<double>) + widen(high_half(x)));
    }
}

// Add sum_k t[k] r_k to F, where row r_k begins at values[starts[k]]; with G also sum_k u[k] r_k to G.
//
// Four rows at a time; their sum is one in the precision of the rows.
template <class T, bool both>
void add_rows_to(double* F, double* G, Size n, const T* values, Vector<const Index> starts, const double* t,
                 const double* u) {
    const Size m = starts.size;
    for (Size begin = 0; begin < n; begin += PASS_COLUMNS) {
        const Size end = lesser_of(begin + PASS_COLUMNS, n);
        for (Size s = 0; s < m; s += 4) {
            const T* r[4];
            T a[4], b[4] = {};
            for (Size l = 0; l < 4; l++) {
                r[l] = values + starts.data[lesser_of(s + l, m - 1)];
                a[l] = s + l < m ? T(t[s + l]) : T(0);
                if (both) b[l] = s + l < m ? T(u[s + l]) : T(0);
            }
            each<T>(begin, end, [&](Size j, auto k) {
                const Full<T> x[4] = {read(r[0] + j, k), read(r[1] + j, k), read(r[2] + j, k), read(r[3] + j, k)};
                add_to(F + j, fused(a[0], x[0], a[1] * x[1]) + fused(a[2], x[2], a[3] * x[3]), k);
                if constexpr (both) add_to(G + j, fused(b[0], x[0], b[1] * x[1]) + fused(b[2], x[2], b[3] * x[3]), k);
            });
        }
    }
}

template <class T>
void add_rows(double* F, double* G, Size n, const T* values, Vector<const Index> starts, const double* t,
              const double* u) {
    G ? add_rows_to<T, true>(F, G, n, values, starts, t, u) : add_rows_to<T, false>(F, G, n, values, starts, t, u);
}

// Fill a square of kernel values from the last one, from stored rows and by mirroring.
//
// Rows and columns `here` of out are `there` in old. Of the others, numbered by `added`, a row is read from the store
// where its slot is not negative, and stands in out already if not.
template <class T>
void assemble(Matrix<T> out, Matrix<const T> old, Vector<const Index> here, const Index* there, Vector<const Index> added,
              const Index* slots, Matrix<const T> store, Vector<const Index> columns) {
    for (Size i = 0; i < here.size; i++) {
        T* to = out.data + Size(here.data[i]) * out.stride;
        const T* of = old.data + Size(there[i]) * old.stride;
        for (Size j = 0; j < here.size; j++) to[here.data[j]] = of[there[j]];
    }
    for (Size i = 0; i < added.size; i++) {
        if (slots[i] < 0) continue;
        T* to = out.data + Size(added.data[i]) * out.stride;
        const T* of = store.data + Size(slots[i]) * store.stride;
        for (Size j = 0; j < columns.size; j++) to[j] = of[columns.data[j]];
    }
    for (Size top = 0; top < here.size; top += MIRROR_ROWS) {
        for (Size i = 0; i < added.size; i++) {
            const T* of = out.data + Size(added.data[i]) * out.stride;
            for (Size j = top; j < lesser_of(top + MIRROR_ROWS, here.size); j++) {
                out.data[Size(here.data[j]) * out.stride + Size(added.data[i])] = of[here.data[j]];
            }
        }
    }
}

}  // namespace mercer::LEVEL
