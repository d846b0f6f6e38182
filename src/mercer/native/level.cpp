// All loops at one level of the processor; this file is compiled once for each.
#include "coordinate.hpp"
#include "kinked.hpp"
#include "laplace.hpp"
#include "linear.hpp"
#include "matern.hpp"
#include "small_problems.hpp"
#include "tiles.hpp"
#include "trees.hpp"

namespace mercer::LEVEL {

template <class T, class W>
constexpr Descents<T, W> descents = {descend_classes<T, W>, descend_targets<T, W>};

template <class T>
constexpr TypedLoops<T> typed = {
    in_units<T, T>, raise_two<T>, powers_of_two<T>, exponents<T>, matern<T>, repair<T>, laplace<T>,
    weigh<T>,    weigh_both<T>, add_rows<T>,     assemble<T>,  weigh_tiles<T>, fill_tiles<T, T>, pair_loop<T, T>, mirror_rows<T>, sweep<T>,   descend<T>,
    descents<T, double>, descend_columns<T>, descend_coupled<T>,
};

extern const Loops loops;
const Loops loops = {
    typed<float>, typed<double>,
    fill_tiles<float, std::uint16_t>, pair_loop<std::uint16_t, float>, mirror_rows<std::uint16_t>, descents<float, float>,
    in_units<double, float>, raise_two_square, matern_square, weigh_slopes, weigh_powers, weigh_matern,
    weigh_and_bound, weigh_laplace, pull_back,      slopes_loop,   solve_parts,  start_parts,   measure_parts,
    rounded,       along,         fenchel_young,    newton_loop,   add_leaves,
};

}  // namespace mercer::LEVEL
