// Views of arrays that Python owns, and the table of all loops at one level of the processor.
#pragma once
#include <cstddef>
#include <cstdint>

namespace mercer {

using Size = std::size_t;
using Index = std::int64_t;
using Unsigned = std::uint64_t;

// Contiguous numbers.
template <class T>
struct Vector {
    T* data;
    Size size;
};

// Rows of contiguous numbers, `stride` numbers from one row to the next.
template <class T>
struct Matrix {
    T* data;
    Size rows, columns, stride;
};

// A node of a tree: a point goes to the node `left`, or to the next one if its feature is above the cut.
struct Node {
    float cut;
    std::uint32_t feature, left, leaf;
};

// Points that a loop leads down a tree at once.
constexpr Size POINTS_TOGETHER = 8;

// Nodes of a tree with codes of categories: see trees.hpp.
struct Tree {
    const Index* column;
    const double* cut;
    const Index *left, *right, *first;
    const double* codes;
};

// Sums over rows of losses: see kinked.hpp.
struct RoundedSums {
    double loss, slopes, sizes, curvatures;
    Size active;
};
struct Sums {
    double first, second, third;
};

// The two parabolas that conjugates of losses are, for every row.
struct Parabolas {
    const double *above, *below, *flat_above, *flat_below, *low, *high;
};

// Small problems over parts of one kernel matrix: see small_problems.hpp.
struct Parts {
    Vector<const Unsigned> ends;
    Matrix<const Unsigned> cuts;
    Matrix<const double> d, terms;
};
struct Steps {
    const double *tols;
    const Index *most;
    double support;
    Index* steps;
};
struct Workspace {
    double *square, *lines;
    Unsigned *stops, *runs;
};
struct Measures {
    double *b, *intervals;
    Matrix<double> values;
};

// Rows of a factor: without columns they are dense.
template <class T>
struct Factor {
    const Unsigned* starts;
    const std::uint32_t* columns;
    bool sparse;
    const T* values;
};
// What a sweep of coordinate descent moves and reads: see coordinate.hpp.
struct Sweep {
    const double* B;
    Size B_row, B_column;
    const double* rho;
    Matrix<double> rows;
    Vector<double> w, beta;
    Vector<const Unsigned> active, blocks;
    Size block_size;
    double limit;
    bool* resting;
};

// Linear machines over the rows of a factor, one a class: see linear.hpp.
template <class W>
struct Classes {
    Matrix<W> weights, coefs;
    Matrix<const W> terms;
    const std::uint32_t* positive;
    std::uint32_t* awake;
    Vector<std::uint32_t> order;
    W *limits, *worst;
    Unsigned* state;
    Size count;
    double bias;
};
// Weights of columns under the norm |w|_1, and all classes of rows together.
struct Columns {
    Vector<double> slack;
    const double* c;
    double* weights;
    Vector<std::uint32_t> order;
    double *worst, *limit;
    Unsigned* state;
};
struct Coupled {
    Matrix<double> weights, coefs;
    const double *c, *squares;
    const std::uint32_t* labels;
    double bias;
    Vector<std::uint32_t> order;
    double *worst, *limit;
    Unsigned* state;
    double* room;
};
template <class T, class W>
struct Descents {
    void (*classes)(Factor<T>, Classes<W>, double, Size, Size);
    void (*targets)(Factor<T>, Classes<W>, double, Size, Size);
};

template <class T>
struct TypedLoops {
    void (*in_units)(Matrix<const T>, const double*, const double*, Matrix<T>, T*);
    void (*raise_two)(Matrix<T>, const T*, const T*);
    void (*powers_of_two)(Matrix<const T>, const T*, const T*, T*, Size);
    void (*exponents)(Matrix<T>, const T*, const T*);
    void (*matern)(Matrix<T>, const T*, const T*, int);
    void (*repair)(T*, Size, Size, Matrix<const T>, Matrix<const T>, const T*, Vector<const Index>, const T*, bool);
    void (*laplace)(Matrix<const T>, const T*, Size, Matrix<const T>, Size, Size, T*, Size);
    void (*weigh)(Matrix<const T>, const double*, double*);
    void (*weigh_both)(Matrix<const T>, Size, const double*, double*, const double*, double*);
    void (*add_rows)(double*, double*, Size, const T*, Vector<const Index>, const double*, const double*);
    void (*assemble)(Matrix<T>, Matrix<const T>, Vector<const Index>, const Index*, Vector<const Index>, const Index*,
                     Matrix<const T>, Vector<const Index>);
    void (*weigh_tiles)(Matrix<const T>, Matrix<const T>, Matrix<const T>, Matrix<double>, Index, double);
    void (*fill_tiles)(Matrix<const T>, Matrix<const T>, Vector<const Index>, Matrix<T>, Index, double);
    double (*pair_loop)(Matrix<const T>, double*, const double*, Matrix<T>, Vector<const Unsigned>, const Unsigned*, double,
                        Index, Index, Size, Index*);
    void (*mirror_rows)(Matrix<T>, Vector<const Index>, const bool*, Size, Size);
    double (*sweep)(Factor<T>, Sweep);
    void (*descend)(Matrix<const T>, Tree, Index*);
    Descents<T, double> descents;
    void (*descend_columns)(Factor<T>, Columns, double, Size, Size);
    void (*descend_coupled)(Factor<T>, Coupled, double, Size, Size);
};

struct Loops {
    TypedLoops<float> single;
    TypedLoops<double> twofold;
    void (*fill_short_tiles)(Matrix<const float>, Matrix<const float>, Vector<const Index>, Matrix<std::uint16_t>, Index,
                             double);
    double (*short_pair_loop)(Matrix<const std::uint16_t>, double*, const double*, Matrix<float>, Vector<const Unsigned>,
                              const Unsigned*, double, Index, Index, Size, Index*);
    void (*mirror_short_rows)(Matrix<std::uint16_t>, Vector<const Index>, const bool*, Size, Size);
    Descents<float, float> single_descents;
    void (*in_single_units)(Matrix<const double>, const double*, const double*, Matrix<float>, float*);
    void (*raise_two_square)(Matrix<double>, const double*);
    void (*matern_square)(Matrix<double>, const double*, int);
    void (*weigh_slopes)(Matrix<double>, const double*, const double*, Matrix<const double>, Size, int);
    void (*weigh_powers)(Matrix<const double>, const double*, const double*, const double*, double*);
    void (*weigh_matern)(Matrix<const double>, const double*, const double*, const double*, double*, int);
    void (*weigh_and_bound)(Matrix<const float>, const double*, const float*, double*, double*);
    void (*weigh_laplace)(Matrix<const double>, const double*, Size, Matrix<const double>, Size, Vector<const double>,
                          double*);
    void (*pull_back)(Matrix<const double>, const double*, Size, Matrix<const double>, Matrix<const double>, Size, Size,
                      bool, double*);
    void (*slopes_loop)(Size, const double*, const double*, const double*, const double*, const double*, const double*,
                        const double*, const double*, double*, double*);
    void (*solve_parts)(Matrix<const double>, Vector<const Unsigned>, bool, Parts, Steps, double*, double*, Workspace);
    void (*start_parts)(Parts, double*);
    void (*measure_parts)(Parts, const double*, const double*, double, double, const double*, double*, Measures);
    RoundedSums (*rounded)(Vector<const double>, const double*, double, const double*, Parabolas, double*, double*);
    Sums (*along)(Vector<const double>, const double*, const double*, const double*);
    Sums (*fenchel_young)(Vector<const double>, const double*, const double*, Parabolas);
    Sums (*newton_loop)(Vector<const double>, const double*, double, Index, double, double);
    void (*add_leaves)(Matrix<const float>, Vector<const std::uint32_t>, const Node*, Matrix<const double>,
                       Matrix<double>);
};

// One table for every level that was compiled.
#if defined(__x86_64__) || defined(_M_X64)
namespace v2 { extern const Loops loops; }
namespace v3 { extern const Loops loops; }
namespace v4 { extern const Loops loops; }
#else
namespace plain { extern const Loops loops; }
#endif

}  // namespace mercer
