// The Python module: shapes, dtypes and strides are checked here, and nothing is computed.
//
// Arguments are NumPy arrays as they are: none that a loop writes to is converted or copied. A
// wrong dtype, number of axes or a read-only array is no match of any signature (TypeError); a wrong length is a ValueError.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "arrays.hpp"

namespace nb = nanobind;
using namespace mercer;

namespace {

template <class T>
constexpr const char* FORMATS = std::is_same_v<T, double>          ? "d"
                                : std::is_same_v<T, float>         ? "f"
                                : std::is_same_v<T, bool>          ? "?"
                                : std::is_same_v<T, std::uint8_t>  ? "B"
                                : std::is_same_v<T, std::uint16_t> ? "H"
                                : std::is_same_v<T, std::uint32_t> ? "IL"
                                : std::is_signed_v<T>              ? "lq"
                                                                   : "LQ";

// An array of numbers of type T with so many axes, whose last one is contiguous.
//
// Memory that is not aligned, as that of arrays inside a message, is copied for loops that only read.
template <class T, int axes>
struct View {
    using Number = std::remove_const_t<T>;
    T* data = nullptr;
    Size shape[axes], stride = 1;
    std::unique_ptr<Number[]> copy;

    // Look at an object; false if it is no such array.
    bool read(PyObject* object) {
        Py_buffer buffer;
        const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
        if (!PyObject_CheckBuffer(object)) return false;
        if (PyObject_GetBuffer(object, &buffer, flags)) {
            PyErr_Clear();
            return false;
        }
        const char* format = buffer.format ? buffer.format : "B";
        // NumPy marks numbers that are not aligned by an equals sign.
        const bool aligned = format[0] != '=';
        format += aligned ? 0 : 1;
        bool right = buffer.ndim == axes && buffer.itemsize == sizeof(Number) && format[0] && !format[1];
        right = right && std::string(FORMATS<Number>).find(format[0]) != std::string::npos;
        right = right && (aligned || std::is_const_v<T>);
        if (right) {
            for (int k = 0; k < axes; k++) shape[k] = Size(buffer.shape[k]);
            const Py_ssize_t last = buffer.strides[axes - 1], first = buffer.strides[0];
            // The step along an axis of one entry says nothing.
            right = shape[axes - 1] <= 1 || last == Py_ssize_t(sizeof(Number));
            stride = axes == 2 ? shape[axes - 1] : 1;
            if (axes == 2 && shape[0] > 1) {
                right = right && first >= 0 && first % sizeof(Number) == 0;
                if (aligned) stride = Size(first) / sizeof(Number);
            }
            data = static_cast<T*>(buffer.buf);
            if (right && !aligned) {
                const Size rows = axes == 2 ? shape[0] : 1, columns = shape[axes - 1];
                copy.reset(new (std::nothrow) Number[rows * columns]);
                right = copy != nullptr;
                for (Size i = 0; right && i < rows; i++) {
                    std::memcpy(copy.get() + i * columns, static_cast<const char*>(buffer.buf) + i * first, columns * sizeof(Number));
                }
                data = copy.get();
            }
        }
        // The caller holds the array as long as the loop runs.
        PyBuffer_Release(&buffer);
        return right;
    }
};

}  // namespace

namespace nanobind::detail {

template <class T>
struct type_caster<Vector<T>> {
    NB_TYPE_CASTER(Vector<T>, const_name("numpy.ndarray"))
    View<T, 1> view;
    bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
        if (!view.read(source.ptr())) return false;
        value.data = view.data, value.size = view.shape[0];
        return true;
    }
    static handle from_cpp(Vector<T>, rv_policy, cleanup_list*) noexcept { return {}; }
};

template <class T>
struct type_caster<Matrix<T>> {
    NB_TYPE_CASTER(Matrix<T>, const_name("numpy.ndarray"))
    View<T, 2> view;
    bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
        if (!view.read(source.ptr())) return false;
        value.data = view.data, value.rows = view.shape[0], value.columns = view.shape[1], value.stride = view.stride;
        return true;
    }
    static handle from_cpp(Matrix<T>, rv_policy, cleanup_list*) noexcept { return {}; }
};

}  // namespace nanobind::detail

namespace {

// The levels that were compiled, the best one last, and the one that this processor and MERCER_NATIVE choose.
struct Level {
    const char* name;
    const Loops* loops;
    bool supported;
};

std::vector<Level> levels() {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return {{"v2", &v2::loops, v2}, {"v3", &v3::loops, v3}, {"v4", &v4::loops, v4}};
#else
    return {{"plain", &plain::loops, true}};
#endif
}

Level choose_level() {
    const char* wanted = std::getenv("MERCER_NATIVE");
    Level best = {"", nullptr, false};
    std::string names;
    for (const Level& level : levels()) {
        if (level.supported && (!wanted || !*wanted || level.name == std::string(wanted))) best = level;
        if (level.supported) names += std::string(names.empty() ? "" : ", ") + level.name;
    }
    if (!best.loops) {
        throw std::runtime_error(wanted && *wanted && !names.empty()
                                     ? "MERCER_NATIVE=" + std::string(wanted) + " is no level of this processor: use " +
                                           names + ", or leave it out."
                                     : "mercer needs a processor with SSE 4.2 (x86-64-v2).");
    }
    return best;
}

const Loops* loops = nullptr;

template <class T>
const TypedLoops<T>& typed() {
    if constexpr (std::is_same_v<T, float>) {
        return loops->single;
    } else {
        return loops->twofold;
    }
}

void expect(bool right, const char* what) {
    if (!right) throw nb::value_error(what);
}

template <class I>
void expect_below(Vector<const I> index, Size end, const char* what) {
    for (Size k = 0; k < index.size; k++) expect(Size(index.data[k]) < end, what);
}

// Offsets that do not fall, from zero to the end.
void expect_offsets(const Unsigned* offsets, Size n, Size end, const char* what) {
    Unsigned before = 0;
    for (Size k = 0; k < n; k++) {
        expect(offsets[k] >= before && offsets[k] <= end, what);
        before = offsets[k];
    }
}

template <class T>
Matrix<const T> constant(Matrix<T> A) {
    return {A.data, A.rows, A.columns, A.stride};
}

// Rows of m numbers, `step` numbers from one to the next, that fit into a vector.
template <class T>
void expect_rows(Vector<T> flat, Size n, Size m, Size step) {
    expect(n == 0 || m == 0 || (step >= m && (n - 1) * step + m <= flat.size), "rows lie outside of their memory");
}

using Released = nb::call_guard<nb::gil_scoped_release>;

template <class T>
void expect_norms(Matrix<T> D, Size hx, Size hz) {
    expect(D.rows == hx && D.columns == hz, "products and norms differ in length");
}

template <class T, class U>
void expect_units(Matrix<const T> X, Vector<const double> origin, Vector<const double> factor, Matrix<U> units, Vector<U> half) {
    expect(X.columns == origin.size && X.columns == factor.size, "points, origin and factor differ in width");
    expect(X.rows == units.rows && X.columns == units.columns && X.rows == half.size, "points and results differ in shape");
}

// Groups of rows and of columns for tiles: features and half norms side by side, and the number of a kernel.
template <class T>
void expect_groups(Matrix<T> x, Matrix<T> z, Index number) {
    constexpr Size lanes = 2 * 64 / sizeof(T);
    expect(z.columns >= lanes && z.columns % lanes == 0, "there are no groups of columns");
    expect(x.columns == z.columns / lanes * 12, "rows and columns differ in features");
    expect(number <= 0 || number == 3 || number == 5, "twice nu is 3 or 5, or 0 for a Gaussian");
}

template <class T, class Out>
void expect_places(Matrix<T> x, Matrix<T> z, Vector<const Index> places, Matrix<Out> out) {
    constexpr Size lanes = 2 * 64 / sizeof(T);
    expect(places.size <= 12 * x.rows && places.size + 12 > 12 * x.rows, "rows and places differ in number");
    expect(out.columns <= lanes * z.rows, "there are no such columns");
    expect_below(places, out.rows, "there is no such place");
}

// Loops over a square of kernel values of type S and derivatives of type T; which ones, its level decides at each call.
template <class S, class T, class Pairs, class Mirror>
void bind_pairs(nb::module_& m, Pairs pairs, Mirror mirror) {
    m.def("pair_loop", [=](Matrix<const S> K, Vector<double> a, Matrix<const double> terms, Matrix<T> state,
                           Vector<const Unsigned> ends, Vector<const Unsigned> runs, double tol, Index max_iter, Index idle) {
        expect(a.size > 1 && K.rows >= a.size - 1 && K.columns >= a.size - 1, "matrix and coefficients differ in number");
        expect(terms.rows == a.size && terms.columns == 8 && terms.stride == 8, "terms are rows of eight");
        expect(state.rows >= 5 && state.columns >= a.size, "there is too little room for derivatives");
        expect(ends.size > 1 && runs.size % 2 == 0, "there are no groups");
        expect_offsets(ends.data, ends.size, runs.size / 2, "groups are no parts of the runs");
        for (Size k = 0; k < runs.size; k += 2) {
            expect(runs.data[k] <= runs.data[k + 1] && runs.data[k + 1] < a.size, "groups are no parts of the samples");
        }
        Index taken = 0;
        const double violation = pairs()(K, a.data, terms.data, state, ends, runs.data, tol, max_iter, idle, a.size - 1, &taken);
        return std::make_pair(taken, violation);
    }, Released());
    m.def("mirror_rows", [=](Matrix<S> K, Vector<const Index> places, Vector<const bool> among, Size first, Size last) {
        expect(K.rows == K.columns, "no square");
        expect(first <= last && last <= K.rows && among.size == K.rows, "there are no such rows");
        expect_below(places, K.rows, "there is no such place");
        mirror()(K, places, among.data, first, last);
    }, Released());
}

// What every pass over rows or columns reads, and where it is.
template <class T>
Factor<T> expect_pass(Vector<const Unsigned> starts, Vector<const std::uint32_t> columns, Vector<const T> values, Size width,
                      Vector<std::uint32_t> order, Vector<Unsigned> state) {
    const Size n = order.size;
    expect(starts.size == n + 1, "starts and rows differ in number");
    expect(state.size == 5 && state.data[0] <= state.data[1] && state.data[1] <= n && state.data[3] > 0, "there is no such place in a pass");
    expect_below(Vector<const std::uint32_t>{order.data, n}, n, "there is no such row");
    expect_offsets(starts.data, starts.size, values.size, "rows lie outside of their memory");
    expect(columns.size || values.size >= n * width, "rows lie outside of their memory");
    expect(!columns.size || columns.size >= values.size, "values and columns differ in number");
    return {starts.data, columns.data, columns.size > 0, values.data};
}

// Passes over rows of linear machines, whose weights have a precision of their own.
template <class T, class W>
void bind_descents(nb::module_& m) {
    auto bind = [&](const char* name, bool several) {
        m.def(name, [several](Vector<const Unsigned> starts, Vector<const std::uint32_t> columns, Vector<const T> values, double bias,
                              Matrix<W> weights, Matrix<W> coefs, Matrix<const W> terms, Vector<const std::uint32_t> positive,
                              Vector<std::uint32_t> awake, Vector<std::uint32_t> order, Vector<W> limits, Vector<W> worst,
                              Vector<Unsigned> state, Size count, double tol, Size max_passes, Size budget) {
            const Size n = order.size, lanes = weights.columns;
            expect(lanes == 1 || (several && (lanes == 4 || lanes == 8 || lanes == 16)), "weights are of 1, 4, 8 or 16 classes");
            expect(count <= lanes && limits.size == lanes && worst.size == lanes, "classes differ in number");
            expect(weights.rows > 0 && weights.stride == lanes, "weights lie apart");
            expect(coefs.rows == n && coefs.columns == lanes && coefs.stride == lanes, "coefficients and rows differ in number");
            expect(terms.rows == n && terms.columns == 6 && terms.stride == 6, "terms are rows of six");
            expect(positive.size == n && awake.size == n, "marks and rows differ in number");
            const Factor<T> X = expect_pass(starts, columns, values, weights.rows - 1, order, state);
            const Descents<T, W>* loop;
            if constexpr (std::is_same_v<W, float>) {
                loop = &loops->single_descents;
            } else {
                loop = &typed<T>().descents;
            }
            (several ? loop->classes : loop->targets)(X, {weights, coefs, terms, positive.data, awake.data, order, limits.data, worst.data, state.data, count, bias},
                tol, max_passes, budget);
        }, Released());
    };
    bind("descend_classes", true);
    bind("descend_targets", false);
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("weigh_tiles", [](Matrix<const T> x, Matrix<const T> z, Matrix<const T> weights, Matrix<double> sums, Index number,
                            double offset) {
        expect_groups(x, z, number);
        expect(weights.rows == sums.rows && (sums.rows == 1 || sums.rows == 2), "there are one or two vectors of weights");
        expect(weights.columns == 12 * x.rows, "rows and weights differ in number");
        expect(sums.columns == 2 * 64 / sizeof(T) * z.rows, "columns and sums differ in number");
        typed<T>().weigh_tiles(x, z, weights, sums, number, offset);
    }, Released());
    m.def("fill_tiles", [](Matrix<const T> x, Matrix<const T> z, Vector<const Index> places, Matrix<T> out, Index number,
                           double offset) {
        expect_groups(x, z, number);
        expect_places(x, z, places, out);
        typed<T>().fill_tiles(x, z, places, out, number, offset);
    }, Released());
    bind_descents<T, double>(m);
    m.def("in_units", [](Matrix<const T> X, Vector<const double> origin, Vector<const double> factor, Matrix<T> units, Vector<T> half) {
        expect_units(X, origin, factor, units, half);
        typed<T>().in_units(X, origin.data, factor.data, units, half.data);
    }, Released());
    m.def("raise_two", [](Matrix<T> D, Vector<const T> hx, Vector<const T> hz) {
        expect_norms(D, hx.size, hz.size);
        typed<T>().raise_two(D, hx.data, hz.data);
    }, Released());
    m.def("powers_of_two", [](Matrix<const T> D, Vector<const T> hx, Vector<const T> hz, Vector<T> flat, Size step) {
        expect_norms(D, hx.size, hz.size);
        expect_rows(flat, D.rows, D.columns, step);
        typed<T>().powers_of_two(D, hx.data, hz.data, flat.data, step);
    }, Released());
    m.def("exponents", [](Matrix<T> D, Vector<const T> hx, Vector<const T> hz) {
        expect_norms(D, hx.size, hz.size);
        typed<T>().exponents(D, hx.data, hz.data);
    }, Released());
    m.def("matern", [](Matrix<T> D, Vector<const T> hx, Vector<const T> hz, int twice) {
        expect_norms(D, hx.size, hz.size);
        expect(twice == 3 || twice == 5, "twice nu is 3 or 5");
        typed<T>().matern(D, hx.data, hz.data, twice);
    }, Released());
    m.def("repair", [](Vector<T> flat, Size step, Size m, Matrix<const T> X, Matrix<const T> Z, Vector<const T> factor,
                       Vector<const Index> rows, Vector<const T> lowest, bool exponential) {
        expect(X.columns == Z.columns && X.columns == factor.size && Z.rows >= m, "points and factor differ in width");
        expect(rows.size == lowest.size, "rows and their limits differ in number");
        expect_below(rows, X.rows, "there is no such row");
        expect_rows(flat, X.rows, m, step);
        typed<T>().repair(flat.data, step, m, X, Z, factor.data, rows, lowest.data, exponential);
    }, Released());
    m.def("laplace", [](Matrix<const T> X, Vector<const T> factor, Size numbers, Matrix<const T> columns, Size start, Size m,
                        Vector<T> flat, Size step) {
        expect(X.columns == factor.size && X.columns == columns.rows && numbers <= X.columns, "points differ in width");
        expect(start <= columns.columns && m <= columns.columns - start, "there are no such columns");
        expect_rows(flat, X.rows, m, step);
        typed<T>().laplace(X, factor.data, numbers, columns, start, m, flat.data, step);
    }, Released());
    m.def("weigh", [](Matrix<const T> K, Vector<const double> a, Vector<double> f) {
        expect(K.columns == a.size && K.rows == f.size, "matrix and vectors differ in length");
        typed<T>().weigh(K, a.data, f.data);
    }, Released());
    m.def("weigh_both", [](Matrix<const T> K, Vector<const double> a, Vector<double> f, Vector<const double> b, Vector<double> g) {
        expect(K.columns >= a.size && a.size == g.size && K.rows == f.size && K.rows == b.size, "matrix and vectors differ in length");
        typed<T>().weigh_both(K, a.size, a.data, f.data, b.data, g.data);
    }, Released());
    auto expect_starts = [](Vector<const T> flat, Vector<const Index> starts, Size n) {
        for (Size k = 0; k < starts.size; k++) {
            expect(starts.data[k] >= 0 && Size(starts.data[k]) + n <= flat.size, "rows lie outside of their memory");
        }
    };
    m.def("add_rows", [=](Vector<double> F, Vector<const T> flat, Vector<const Index> starts, Vector<const double> t) {
        expect_starts(flat, starts, F.size);
        expect(t.size == starts.size, "rows and weights differ in number");
        typed<T>().add_rows(F.data, nullptr, F.size, flat.data, starts, t.data, nullptr);
    }, Released());
    m.def("add_rows", [=](Matrix<double> F, Vector<const T> flat, Vector<const Index> starts, Matrix<const double> t) {
        expect_starts(flat, starts, F.columns);
        expect(F.rows == 2 && t.rows == 2 && t.columns == starts.size, "rows and weights differ in number");
        typed<T>().add_rows(F.data, F.data + F.stride, F.columns, flat.data, starts, t.data, t.data + t.stride);
    }, Released());
    m.def("assemble", [](Matrix<T> out, Matrix<const T> old, Vector<const Index> here, Vector<const Index> there,
                         Vector<const Index> added, Vector<const Index> slots, Matrix<const T> store, Vector<const Index> columns) {
        expect(out.rows == out.columns && columns.size == out.rows, "no square of so many samples");
        expect(here.size == there.size && added.size == slots.size, "places differ in number");
        expect_below(here, out.rows, "there is no such place");
        expect_below(added, out.rows, "there is no such place");
        expect(there.size == 0 || old.rows == old.columns, "no square");
        expect_below(there, old.rows, "there is no such place");
        bool reads = false;
        for (Size k = 0; k < slots.size; k++) {
            expect(slots.data[k] < 0 || Size(slots.data[k]) < store.rows, "there is no such slot");
            reads = reads || slots.data[k] >= 0;
        }
        if (reads) expect_below(columns, store.columns, "there is no such sample");
        typed<T>().assemble(out, old, here, there.data, added, slots.data, store, columns);
    }, Released());
    bind_pairs<T, T>(m, [] { return typed<T>().pair_loop; }, [] { return typed<T>().mirror_rows; });
    m.def("sweep", [](Vector<const Unsigned> starts, Vector<const std::uint32_t> columns, Vector<const T> values,
                      Matrix<const double> B, Vector<const double> rho, Matrix<double> rows, Vector<double> w, Vector<double> beta,
                      Vector<const Unsigned> active, Vector<const Unsigned> blocks, Size size, double limit, Vector<bool> resting) {
        expect(starts.size == rows.rows + 1 && rows.columns == 8, "rows and their terms differ in number");
        expect(B.rows == rows.rows && B.columns == beta.size && rho.size == beta.size, "columns differ in number");
        expect(resting.size == active.size && size > 0, "marks and rows differ in number");
        expect_below(active, rows.rows, "there is no such row");
        expect_offsets(starts.data, starts.size, values.size, "rows lie outside of their memory");
        expect(columns.size || values.size >= rows.rows * w.size, "rows lie outside of their memory");
        expect(!columns.size || columns.size >= values.size, "values and columns differ in number");
        return typed<T>().sweep({starts.data, columns.data, columns.size > 0, values.data},
                                {B.data, B.stride, 1, rho.data, rows, w, beta, active, blocks, size, limit, resting.data});
    }, Released());
    m.def("descend_columns", [](Vector<const Unsigned> starts, Vector<const std::uint32_t> rows, Vector<const T> values, Vector<double> slack,
                                Vector<const double> c, Vector<double> weights, Vector<std::uint32_t> order, Vector<double> progress,
                                Vector<Unsigned> state, double tol, Size max_passes, Size budget) {
        expect(c.size == slack.size && weights.size == order.size, "weights and columns differ in number");
        expect(progress.size == 2, "progress is the largest violation and a limit");
        const Factor<T> X = expect_pass(starts, rows, values, slack.size, order, state);
        typed<T>().descend_columns(X, {slack, c.data, weights.data, order, progress.data, progress.data + 1, state.data}, tol, max_passes, budget);
    }, Released());
    m.def("descend_coupled", [](Vector<const Unsigned> starts, Vector<const std::uint32_t> columns, Vector<const T> values, double bias,
                                Matrix<double> weights, Matrix<double> coefs, Vector<const double> c, Vector<const double> squares,
                                Vector<const std::uint32_t> labels, Vector<std::uint32_t> order, Vector<double> progress,
                                Vector<Unsigned> state, Vector<double> room, double tol, Size max_passes, Size budget) {
        const Size n = order.size, classes = weights.columns;
        expect(weights.rows > 0 && classes > 0 && weights.stride == classes, "weights lie apart");
        expect(coefs.rows == n && coefs.columns == classes && coefs.stride == classes, "coefficients and rows differ in number");
        expect(c.size == n && squares.size == n && labels.size == n, "weights and rows differ in number");
        expect(progress.size == 2 && room.size >= 3 * classes, "there is too little room to work");
        expect_below(labels, classes, "there is no such class");
        const Factor<T> X = expect_pass(starts, columns, values, weights.rows - 1, order, state);
        typed<T>().descend_coupled(X, {weights, coefs, c.data, squares.data, labels.data, bias, order, progress.data, progress.data + 1, state.data, room.data},
                                   tol, max_passes, budget);
    }, Released());
    m.def("descend", [](Matrix<const T> X, Vector<const Index> column, Vector<const double> cut, Vector<const Index> left,
                        Vector<const Index> right, Vector<const Index> first, Vector<const double> codes, Vector<Index> leaf) {
        const Size n = column.size;
        expect(n > 0 && cut.size == n && left.size == n && right.size == n && first.size == n + 1, "nodes differ in number");
        expect(leaf.size == X.rows, "points and leaves differ in number");
        Index before = 0;
        for (Size k = 0; k <= n; k++) {
            expect(first.data[k] >= before && Size(first.data[k]) <= codes.size, "codes lie outside of their memory");
            before = first.data[k];
        }
        for (Size k = 0; k < n; k++) {
            if (column.data[k] < 0) continue;
            expect(Size(column.data[k]) < X.columns, "there is no such feature");
            // Below its parent, so that every way ends.
            expect(left.data[k] > Index(k) && right.data[k] > Index(k) && Size(left.data[k]) < n && Size(right.data[k]) < n, "children come after their node");
        }
        typed<T>().descend(X, {column.data, cut.data, left.data, right.data, first.data, codes.data}, leaf.data);
    }, Released());
}

Parts parts_of(Vector<const Unsigned> ends, Matrix<const Unsigned> cuts, Matrix<const double> d, Matrix<const double> terms, Size n) {
    expect(ends.size == d.rows + 1 && cuts.rows == d.rows && cuts.columns == d.columns + 1, "problems differ in number");
    expect(terms.columns == 8 && terms.rows > n, "terms are rows of eight");
    expect(ends.size > 0 && ends.data[0] == 0, "problems begin at the first sample");
    expect_offsets(ends.data, ends.size, n, "problems are no parts of the samples");
    for (Size k = 0; k < d.rows; k++) {
        expect_offsets(cuts.data + k * cuts.stride, cuts.columns, ends.data[k + 1] - ends.data[k], "groups are no parts of the samples");
    }
    return {ends, cuts, d, terms};
}

Parabolas parabolas(Vector<const double> above, Vector<const double> below, Vector<const double> flat_above,
                    Vector<const double> flat_below, Vector<const double> low, Vector<const double> high, Size n) {
    for (const auto& part : {above, below, flat_above, flat_below, low, high}) expect(part.size == n, "rows differ in number");
    return {above.data, below.data, flat_above.data, flat_below.data, low.data, high.data};
}

using V = Vector<const double>;
using M = Matrix<const double>;

}  // namespace

NB_MODULE(_native, m) {
    const Level level = choose_level();
    loops = level.loops;
    m.attr("level") = level.name;
    nb::list names;
    for (const Level& one : levels()) {
        if (one.supported) names.append(one.name);
    }
    m.attr("levels") = nb::tuple(names);
    // For tests, which compare levels in one process.
    m.def("use_level", [](const std::string& name) {
        for (const Level& one : levels()) {
            if (one.supported && one.name == name) {
                loops = one.loops;
                nb::module_::import_("mercer._native").attr("level") = one.name;
                return;
            }
        }
        throw nb::value_error(("this processor has no level " + name).c_str());
    });

    bind_typed<float>(m);
    bind_typed<double>(m);
    bind_pairs<std::uint16_t, float>(m, [] { return loops->short_pair_loop; }, [] { return loops->mirror_short_rows; });
    m.def("fill_tiles", [](Matrix<const float> x, Matrix<const float> z, Vector<const Index> places, Matrix<std::uint16_t> out,
                           Index number, double offset) {
        expect_groups(x, z, number);
        expect_places(x, z, places, out);
        loops->fill_short_tiles(x, z, places, out, number, offset);
    }, Released());
    bind_descents<float, float>(m);
    m.def("in_units", [](M X, V origin, V factor, Matrix<float> units, Vector<float> half) {
        expect_units(X, origin, factor, units, half);
        loops->in_single_units(X, origin.data, factor.data, units, half.data);
    }, Released());
    m.def("raise_two_square", [](Matrix<double> D, V half) {
        expect(D.rows == D.columns && D.rows == half.size, "no square of so many points");
        loops->raise_two_square(D, half.data);
    }, Released());
    m.def("matern_square", [](Matrix<double> D, V half, int twice) {
        expect(D.rows == D.columns && D.rows == half.size, "no square of so many points");
        expect(twice == 3 || twice == 5, "twice nu is 3 or 5");
        loops->matern_square(D, half.data, twice);
    }, Released());
    m.def("weigh_slopes", [](Matrix<double> D, V hx, V hz, M G, Size first, int twice) {
        expect(D.rows == hx.size && D.columns <= hz.size && G.rows == D.rows && G.columns >= D.columns, "products and norms differ in length");
        expect(twice == 0 || twice == 3 || twice == 5, "twice nu is 3 or 5, or 0 for a Gaussian");
        loops->weigh_slopes(D, hx.data, hz.data, G, first, twice);
    }, Released());
    m.def("weigh_powers", [](M D, V hx, V hz, V a, Vector<double> f) {
        expect_norms(D, hx.size, hz.size);
        expect(D.columns == a.size && D.rows == f.size, "matrix and vectors differ in length");
        loops->weigh_powers(D, hx.data, hz.data, a.data, f.data);
    }, Released());
    m.def("weigh_matern", [](M D, V hx, V hz, V a, Vector<double> f, int twice) {
        expect_norms(D, hx.size, hz.size);
        expect(D.columns == a.size && D.rows == f.size, "matrix and vectors differ in length");
        expect(twice == 3 || twice == 5, "twice nu is 3 or 5");
        loops->weigh_matern(D, hx.data, hz.data, a.data, f.data, twice);
    }, Released());
    m.def("weigh_and_bound", [](Matrix<const float> K, V a, Vector<const float> w, Vector<double> f, Vector<double> e) {
        expect(K.columns == a.size && a.size == w.size && K.rows == f.size && f.size == e.size, "matrix and vectors differ in length");
        loops->weigh_and_bound(K, a.data, w.data, f.data, e.data);
    }, Released());
    m.def("weigh_laplace", [](M X, V factor, Size numbers, M columns, Size start, V a, Vector<double> f) {
        expect(X.columns == factor.size && X.columns == columns.rows && numbers <= X.columns, "points differ in width");
        expect(start <= columns.columns && a.size <= columns.columns - start && X.rows == f.size, "there are no such columns");
        loops->weigh_laplace(X, factor.data, numbers, columns, start, a, f.data);
    }, Released());
    m.def("pull_back", [](M X, V factor, Size numbers, M columns, M G, Size first, Size last, bool tied, Vector<double> sums) {
        expect(X.columns == factor.size && X.columns == columns.rows && numbers <= X.columns, "points differ in width");
        expect(last <= X.rows && last <= G.rows && last <= G.columns && last <= columns.columns, "there are no such rows");
        expect(sums.size >= (tied ? 1 : X.columns), "there is too little room for sums");
        loops->pull_back(X, factor.data, numbers, columns, G, first, last, tied, sums.data);
    }, Released());
    m.def("slopes_loop", [](V F, V a, V p_pos, V p_neg, V q_pos, V q_neg, V lower, V upper, Vector<double> up, Vector<double> down) {
        for (const auto& part : {F, p_pos, p_neg, q_pos, q_neg, lower, upper}) expect(part.size == a.size, "samples differ in number");
        expect(up.size == a.size && down.size == a.size, "samples differ in number");
        loops->slopes_loop(a.size, F.data, a.data, p_pos.data, p_neg.data, q_pos.data, q_neg.data, lower.data, upper.data, up.data, down.data);
    }, Released());
    m.def("solve_parts", [](M K, bool whole, Vector<const Unsigned> index, Vector<const Unsigned> ends, Matrix<const Unsigned> cuts,
                            M d, M terms, V tols, Vector<const Index> most, double support, Vector<Index> steps,
                            Vector<double> a, Vector<double> f, Vector<double> square, Vector<double> lines,
                            Vector<Unsigned> stops, Vector<Unsigned> runs) {
        const Parts parts = parts_of(ends, cuts, d, terms, a.size);
        expect(f.size == a.size && tols.size == d.rows && most.size == d.rows && steps.size == d.rows, "problems differ in number");
        Size largest = 0;
        for (Size k = 0; k < d.rows; k++) {
            const Size size = ends.data[k + 1] - ends.data[k];
            largest = size > largest ? size : largest;
        }
        expect(lines.size >= 8 * (largest + 1) + 6 * (largest + 8) && stops.size >= 3 * d.columns + 4, "there is too little room to work");
        expect(K.rows == K.columns, "no square");
        if (whole) {
            expect(K.rows >= a.size && d.rows <= 1, "matrix and samples differ in number");
        } else {
            expect(index.size == a.size && square.size >= largest * largest && runs.size > largest, "there is too little room to work");
            expect_below(index, K.rows, "there is no such point");
        }
        loops->solve_parts(K, index, whole, parts, {tols.data, most.data, support, steps.data}, a.data, f.data,
                           {square.data, lines.data, stops.data, runs.data});
    }, Released());
    m.def("start_parts", [](Vector<const Unsigned> ends, Matrix<const Unsigned> cuts, M d, M terms, Vector<double> a) {
        loops->start_parts(parts_of(ends, cuts, d, terms, a.size), a.data);
    }, Released());
    m.def("measure_parts", [](Vector<const Unsigned> ends, Matrix<const Unsigned> cuts, M d, M terms, V c, V tols, double largest,
                              double value_error, V a, Vector<double> f, Matrix<double> b, Matrix<double> intervals, Matrix<double> values) {
        const Parts parts = parts_of(ends, cuts, d, terms, a.size);
        expect(c.size == a.size && f.size == a.size && tols.size == d.rows, "problems differ in number");
        expect(b.rows == d.rows && b.columns == d.columns && b.stride == d.columns, "intercepts differ in number");
        expect(intervals.rows == d.rows && intervals.columns == 2 * d.columns && intervals.stride == 2 * d.columns, "intervals differ in number");
        expect(values.rows == d.rows && values.columns == 11, "there are eleven measures");
        loops->measure_parts(parts, c.data, tols.data, largest, value_error, a.data, f.data, {b.data, intervals.data, values});
    }, Released());
    m.def("rounded", [](V t, V v0, double mu, V c, V above, V below, V flat_above, V flat_below, V low, V high, Vector<double> v, Vector<double> bent) {
        expect(v0.size == t.size && c.size == t.size && v.size == t.size && bent.size == t.size, "rows differ in number");
        const RoundedSums s = loops->rounded(t, v0.data, mu, c.data, parabolas(above, below, flat_above, flat_below, low, high, t.size), v.data, bent.data);
        return std::make_tuple(s.loss, s.slopes, s.sizes, s.curvatures, s.active);
    }, Released());
    m.def("along", [](V g, V c, V v, V bent) {
        expect(c.size == g.size && v.size == g.size && bent.size == g.size, "rows differ in number");
        const Sums s = loops->along(g, c.data, v.data, bent.data);
        return std::make_tuple(s.first, s.second, s.third);
    }, Released());
    m.def("fenchel_young", [](V t, V v, V c, V above, V below, V flat_above, V flat_below, V low, V high) {
        expect(v.size == t.size && c.size == t.size, "rows differ in number");
        const Sums s = loops->fenchel_young(t, v.data, c.data, parabolas(above, below, flat_above, flat_below, low, high, t.size));
        return std::make_tuple(s.first, s.second, s.third);
    }, Released());
    m.def("newton_loop", [](V x, V t, double b, Index steps, double ridge, double level) {
        expect(t.size == x.size, "values and targets differ in number");
        const Sums s = loops->newton_loop(x, t.data, b, steps, ridge, level);
        return std::make_pair(s.first, s.second);
    }, Released());
    m.def("add_leaves", [](Matrix<const float> blocks, Vector<const std::uint32_t> roots, Matrix<const std::uint8_t> nodes, M values, Matrix<double> out) {
        expect(nodes.columns == sizeof(Node) && nodes.stride == sizeof(Node), "nodes are rows of sixteen bytes");
        expect(blocks.columns % POINTS_TOGETHER == 0, "points come in blocks of eight");
        expect(values.rows > 0, "there are no leaves");
        expect(blocks.rows == (out.rows + POINTS_TOGETHER - 1) / POINTS_TOGETHER && values.columns == out.columns, "points and results differ in shape");
        expect_below(roots, nodes.rows, "there is no such node");
        loops->add_leaves(blocks, roots, reinterpret_cast<const Node*>(nodes.data), values, out);
    }, Released());
}
