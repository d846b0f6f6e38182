// Powers of two of lanes: sums, products and bits of integers, no table and no branch.
#pragma once
#include "lanes.hpp"

namespace mercer::LEVEL {

// 2^r = 1 + c_1 r + c_2 r^2 + ... for |r| <= 1/2 with the smallest largest relative error, 2e-9 and 3.5e-17.
inline constexpr float FRACTION[] = {1.0f,           6.93147203e-01f, 2.40226479e-01f, 5.55033247e-02f,
                                     9.61843736e-03f, 1.33988744e-03f, 1.53533619e-04f};
inline constexpr double FRACTION_DOUBLE[] = {
    1.0,
    6.9314718055994562e-01,
    2.4022650695910093e-01,
    5.5504108664794905e-02,
    9.6181291076100635e-03,
    1.3333558152707787e-03,
    1.5403530436684304e-04,
    1.5252727822354072e-05,
    1.3215445517964000e-06,
    1.0180558117345349e-07,
    7.0720261628708018e-09,
    4.0796368383853598e-10,
};

// Below, 2^t is subnormal, and the bits of the exponent no longer make it: it becomes zero.
inline constexpr float LOWEST = -125.9f;
inline constexpr double LOWEST_DOUBLE = -1021.9;

// An exponent of nearly equal points that rounding made positive stays so: cut at zero, such errors would all have one
// sign and add up in a quadratic form. Larger ones are not rounding.
inline constexpr float HIGHEST = 0.0078125f;

template <Size k = 0, class L, class T, Size n>
inline L polynomial(L r, const T (&c)[n]) {
    if constexpr (k + 1 == n) {
        return all<L>(c[k]);
    } else {
        return fused(r, polynomial<k + 1>(r, c), all<L>(c[k]));
    }
}

// 2^min(t, HIGHEST), less than one unit in the last place off; a NaN stays one.
template <Size bytes>
inline Lanes<float, bytes> power(Lanes<float, bytes> t) {
    if constexpr (bytes <= REGISTER) {
        using L = Lanes<float, bytes>;
        using Bits = typename Lanes<std::int32_t, bytes>::Register;
        // Adding 1.5 * 2^23 rounds a small number to an integer, which then sits in the last nine bits; all others
        // leave at the top when these are moved up to become the exponent of a power of two.
        constexpr float round = 12582912.0f;
        t = where_less(all<L>(HIGHEST), t, all<L>(HIGHEST), t);
        L shifted = t + round, r = t - (shifted - round);
        L scale = {(typename L::Register)(((Bits)shifted.v + 127) << 23)};
        return where_less(t, all<L>(LOWEST), L{}, polynomial(r, FRACTION) * scale);
    } else {
        return {power(t.low), power(t.high)};
    }
}

// 2^t for t that rounding makes positive by 1e-9 at most.
template <Size bytes>
inline Lanes<double, bytes> power(Lanes<double, bytes> t) {
    if constexpr (bytes <= REGISTER) {
        using L = Lanes<double, bytes>;
        using Bits = typename Lanes<std::int64_t, bytes>::Register;
        constexpr double round = 6755399441055744.0 + 1023.0;
        L shifted = t + round, r = t - (shifted - round);
        L scale = {(typename L::Register)((Bits)shifted.v << 52)};
        return where_less(t, all<L>(LOWEST_DOUBLE), L{}, polynomial(r, FRACTION_DOUBLE) * scale);
    } else {
        return {power(t.low), power(t.high)};
    }
}

}  // namespace mercer::LEVEL
