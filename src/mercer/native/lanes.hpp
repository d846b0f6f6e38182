// Lanes of numbers by the vector extensions of GCC and Clang.
//
// There are 64 bytes of them at every level of the processor: registers that are narrower come in pairs of halves, so
// that sums have one order and levels with the same arithmetic give the same bits. No function of the standard library
// is called here: the linker would keep one copy of it, and perhaps the one that this processor cannot run.
#pragma once
#include <type_traits>

#include "arrays.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace mercer::LEVEL {

// Bytes of a register.
constexpr Size REGISTER = REGISTER_BYTES;
constexpr Size BYTES = 64;

template <class T, Size bytes, bool native = (bytes <= REGISTER)>
struct Lanes;

template <class T, Size bytes>
struct Lanes<T, bytes, true> {
    typedef T Register __attribute__((vector_size(bytes)));
    typedef T Anywhere __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias));
    Register v;
};

template <class T, Size bytes>
struct Lanes<T, bytes, false> {
    Lanes<T, bytes / 2> low, high;
};

template <class T>
using Full = Lanes<T, BYTES>;
// As many numbers as a full one of doubles has.
using HalfFloats = Lanes<float, BYTES / 2>;

template <class T>
constexpr Size COUNT = BYTES / sizeof(T);

template <class T, Size bytes>
inline Lanes<T, bytes> load_lanes(const T* p) {
    using L = Lanes<T, bytes>;
    if constexpr (bytes <= REGISTER) {
        return {*reinterpret_cast<const typename L::Anywhere*>(p)};
    } else {
        return {load_lanes<T, bytes / 2>(p), load_lanes<T, bytes / 2>(p + bytes / 2 / sizeof(T))};
    }
}

template <class T, Size bytes>
inline void store(T* p, Lanes<T, bytes> x) {
    if constexpr (bytes <= REGISTER) {
        *reinterpret_cast<typename Lanes<T, bytes>::Anywhere*>(p) = x.v;
    } else {
        store(p, x.low), store(p + bytes / 2 / sizeof(T), x.high);
    }
}

template <class T>
inline Full<T> load(const T* p) {
    return load_lanes<T, BYTES>(p);
}

// The first k numbers, and zeros.
template <class T, Size bytes = BYTES>
inline Lanes<T, bytes> load_some(const T* p, Size k) {
#ifdef __AVX512VL__
    if constexpr (sizeof(T) == 8 && bytes == 64) {
        return {(typename Lanes<T, bytes>::Register)_mm512_maskz_loadu_pd((__mmask8)((1u << k) - 1), p)};
    } else if constexpr (sizeof(T) == 4 && bytes == 64) {
        return {(typename Lanes<T, bytes>::Register)_mm512_maskz_loadu_ps((__mmask16)((1u << k) - 1), p)};
    } else if constexpr (sizeof(T) == 4 && bytes == 32) {
        return {(typename Lanes<T, bytes>::Register)_mm256_maskz_loadu_ps((__mmask8)((1u << k) - 1), p)};
    }
#endif
    T x[bytes / sizeof(T)] = {};
    for (Size i = 0; i < k; i++) x[i] = p[i];
    return load_lanes<T, bytes>(x);
}

template <class T, Size bytes>
inline void store_some(T* p, Lanes<T, bytes> x, Size k) {
#ifdef __AVX512VL__
    if constexpr (sizeof(T) == 8 && bytes == 64) {
        _mm512_mask_storeu_pd(p, (__mmask8)((1u << k) - 1), (__m512d)x.v);
        return;
    } else if constexpr (sizeof(T) == 4 && bytes == 64) {
        _mm512_mask_storeu_ps(p, (__mmask16)((1u << k) - 1), (__m512)x.v);
        return;
    }
#endif
    T y[bytes / sizeof(T)];
    store(y, x);
    for (Size i = 0; i < k; i++) p[i] = y[i];
}

// One number in all lanes. Not a sum with zero, which would change the sign of -0.
template <class L, class T>
inline L all(T x) {
    if constexpr (requires(L y) { y.v; }) {
        return {x - typename L::Register{}};
    } else {
        auto half = all<decltype(L::low)>(x);
        return {half, half};
    }
}

#define LANES_OPERATOR(sign)                                                      \
    template <class T, Size bytes>                                                \
    inline Lanes<T, bytes> operator sign(Lanes<T, bytes> x, Lanes<T, bytes> y) {  \
        if constexpr (bytes <= REGISTER) {                                        \
            return {x.v sign y.v};                                                \
        } else {                                                                  \
            return {x.low sign y.low, x.high sign y.high};                        \
        }                                                                         \
    }                                                                             \
    template <class T, Size bytes>                                                \
    inline Lanes<T, bytes> operator sign(Lanes<T, bytes> x, T y) {                \
        return x sign all<Lanes<T, bytes>>(y);                                    \
    }                                                                             \
    template <class T, Size bytes>                                                \
    inline Lanes<T, bytes> operator sign(T x, Lanes<T, bytes> y) {                \
        return all<Lanes<T, bytes>>(x) sign y;                                    \
    }
LANES_OPERATOR(+)
LANES_OPERATOR(-)
LANES_OPERATOR(*)
LANES_OPERATOR(/)
#undef LANES_OPERATOR

template <class T, Size bytes>
inline void operator+=(Lanes<T, bytes>& x, Lanes<T, bytes> y) {
    x = x + y;
}

// x y + z, rounded once where the processor can. The compiler is not allowed to choose (-ffp-contract=off): it would
// choose one way in a loop and another at its end, and the value of a pair would depend on its company.
inline double fused(double x, double y, double z) {
#if defined(__FMA__) || defined(__ARM_NEON)
    return __builtin_fma(x, y, z);
#else
    return x * y + z;
#endif
}
inline float fused(float x, float y, float z) {
#if defined(__FMA__) || defined(__ARM_NEON)
    return __builtin_fmaf(x, y, z);
#else
    return x * y + z;
#endif
}
template <class T, Size bytes>
inline Lanes<T, bytes> fused(Lanes<T, bytes> x, Lanes<T, bytes> y, Lanes<T, bytes> z) {
    if constexpr (bytes > REGISTER) {
        return {fused(x.low, y.low, z.low), fused(x.high, y.high, z.high)};
    } else {
        using R [[maybe_unused]] = typename Lanes<T, bytes>::Register;
        [[maybe_unused]] constexpr bool doubles = sizeof(T) == 8;
#if defined(__AVX512F__)
        if constexpr (bytes == 64 && doubles) return {(R)_mm512_fmadd_pd((__m512d)x.v, (__m512d)y.v, (__m512d)z.v)};
        if constexpr (bytes == 64 && !doubles) return {(R)_mm512_fmadd_ps((__m512)x.v, (__m512)y.v, (__m512)z.v)};
#elif defined(__FMA__)
        if constexpr (bytes == 32 && doubles) return {(R)_mm256_fmadd_pd((__m256d)x.v, (__m256d)y.v, (__m256d)z.v)};
        if constexpr (bytes == 32 && !doubles) return {(R)_mm256_fmadd_ps((__m256)x.v, (__m256)y.v, (__m256)z.v)};
#elif defined(__ARM_NEON)
        if constexpr (bytes == 16 && doubles) return {(R)vfmaq_f64((float64x2_t)z.v, (float64x2_t)x.v, (float64x2_t)y.v)};
        if constexpr (bytes == 16 && !doubles) return {(R)vfmaq_f32((float32x4_t)z.v, (float32x4_t)x.v, (float32x4_t)y.v)};
#endif
        return {x.v * y.v + z.v};
    }
}
template <class T, Size bytes>
inline Lanes<T, bytes> fused(T x, Lanes<T, bytes> y, Lanes<T, bytes> z) {
    return fused(all<Lanes<T, bytes>>(x), y, z);
}

// `yes` where x < y, `no` elsewhere, also where one is NaN.
template <class T, Size bytes>
inline Lanes<T, bytes> where_less(Lanes<T, bytes> x, Lanes<T, bytes> y, Lanes<T, bytes> yes, Lanes<T, bytes> no) {
    if constexpr (bytes <= REGISTER) {
        return {x.v < y.v ? yes.v : no.v};
    } else {
        return {where_less(x.low, y.low, yes.low, no.low), where_less(x.high, y.high, yes.high, no.high)};
    }
}

// A number in the lanes that differ, or are NaN, and zero in the others.
template <class T, Size bytes>
inline Lanes<T, bytes> where_unequal(Lanes<T, bytes> x, Lanes<T, bytes> y, Lanes<T, bytes> number) {
    if constexpr (bytes <= REGISTER) {
        return {x.v != y.v ? number.v : typename Lanes<T, bytes>::Register{}};
    } else {
        return {where_unequal(x.low, y.low, number.low), where_unequal(x.high, y.high, number.high)};
    }
}

// Whether any lanes are equal.
template <class T, Size bytes>
inline bool any_equal(Lanes<T, bytes> x, Lanes<T, bytes> y) {
    if constexpr (bytes <= REGISTER) {
#ifdef __AVX512F__
        if constexpr (bytes == 64 && sizeof(T) == 8) return _mm512_cmpeq_pd_mask((__m512d)x.v, (__m512d)y.v);
        if constexpr (bytes == 64 && sizeof(T) == 4) return _mm512_cmpeq_ps_mask((__m512)x.v, (__m512)y.v);
#endif
        const auto same = x.v == y.v;
        Unsigned parts[bytes / 8], any = 0;
        __builtin_memcpy(parts, &same, bytes);
        for (Size k = 0; k < bytes / 8; k++) any |= parts[k];
        return any;
    } else {
        return any_equal(x.low, y.low) || any_equal(x.high, y.high);
    }
}

template <class L>
inline L lesser(L x, L y) {
    return where_less(x, y, x, y);
}
template <class L>
inline L greater(L x, L y) {
    return where_less(y, x, x, y);
}
// max(x, 0) and min(x, 0) that keep a NaN.
template <class L>
inline L cut_below(L x) {
    return where_less(x, L{}, L{}, x);
}
template <class L>
inline L cut_above(L x) {
    return where_less(L{}, x, L{}, x);
}

template <class T, Size bytes>
inline Lanes<T, bytes> magnitude(Lanes<T, bytes> x) {
    if constexpr (bytes <= REGISTER) {
        using Bits = typename Lanes<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>, bytes>::Register;
        constexpr auto bits = sizeof(T) == 4 ? std::int64_t{0x7fffffff} : std::int64_t{0x7fffffffffffffff};
        return {(typename Lanes<T, bytes>::Register)((Bits)x.v & (decltype(Bits{}[0] + 0))bits)};
    } else {
        return {magnitude(x.low), magnitude(x.high)};
    }
}

template <class T, Size bytes>
inline Lanes<T, bytes> root(Lanes<T, bytes> x) {
    if constexpr (bytes <= REGISTER) {
        Lanes<T, bytes> y;
        for (Size i = 0; i < bytes / sizeof(T); i++) y.v[i] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(x.v[i]))) : T(__builtin_sqrt(x.v[i]));
        return y;
    } else {
        return {root(x.low), root(x.high)};
    }
}

template <class T, Size bytes>
inline Lanes<T, bytes / 2> low_half(Lanes<T, bytes> x) {
    if constexpr (bytes > REGISTER) {
        return x.low;
    } else {
        Lanes<T, bytes / 2> y;
        __builtin_memcpy(&y, &x, bytes / 2);
        return y;
    }
}
template <class T, Size bytes>
inline Lanes<T, bytes / 2> high_half(Lanes<T, bytes> x) {
    if constexpr (bytes > REGISTER) {
        return x.high;
    } else {
        Lanes<T, bytes / 2> y;
        __builtin_memcpy(&y, reinterpret_cast<const char*>(&x) + bytes / 2, bytes / 2);
        return y;
    }
}

// Floats as doubles.
template <Size bytes>
inline Lanes<double, 2 * bytes> widen(Lanes<float, bytes> x) {
    if constexpr (2 * bytes <= REGISTER) {
        return {__builtin_convertvector(x.v, typename Lanes<double, 2 * bytes>::Register)};
    } else {
        return {widen(low_half(x)), widen(high_half(x))};
    }
}

// Doubles as floats.
template <Size bytes>
inline Lanes<float, bytes / 2> narrow(Lanes<double, bytes> x) {
    if constexpr (bytes <= REGISTER) {
        return {__builtin_convertvector(x.v, typename Lanes<float, bytes / 2>::Register)};
    } else {
        const auto low = narrow(x.low), high = narrow(x.high);
        Lanes<float, bytes / 2> y;
        __builtin_memcpy(&y, &low, bytes / 4);
        __builtin_memcpy(reinterpret_cast<char*>(&y) + bytes / 4, &high, bytes / 4);
        return y;
    }
}

// Numbers from 0 to 1 in 16 bits: parts of 65,535.
constexpr float WHOLE = 65535.0f;

// Sixteen of them, times 65,535, and back; what is written lies between 0 and 65,535 and is cut to whole numbers.
template <Size bytes = BYTES>
inline Lanes<float, bytes> load_shorts(const std::uint16_t* p) {
    if constexpr (bytes <= REGISTER) {
        using Shorts = typename Lanes<std::uint16_t, bytes / 2>::Anywhere;
        using Integers = typename Lanes<std::int32_t, bytes>::Register;
        // By way of signed integers: without AVX-512 nothing converts others.
        const auto whole = __builtin_convertvector(*reinterpret_cast<const Shorts*>(p), Integers);
        return {__builtin_convertvector(whole, typename Lanes<float, bytes>::Register)};
    } else {
        return {load_shorts<bytes / 2>(p), load_shorts<bytes / 2>(p + bytes / 8)};
    }
}
template <Size bytes>
inline void store_shorts(std::uint16_t* p, Lanes<float, bytes> x) {
    if constexpr (bytes <= REGISTER) {
        using Shorts = typename Lanes<std::uint16_t, bytes / 2>::Anywhere;
        using Integers = typename Lanes<std::int32_t, bytes>::Register;
        *reinterpret_cast<Shorts*>(p) = __builtin_convertvector(__builtin_convertvector(x.v, Integers), Shorts);
    } else {
        store_shorts(p, x.low), store_shorts(p + bytes / 8, x.high);
    }
}

// Eight numbers as doubles.
inline Full<double> load_double(const double* p) { return load(p); }
inline Full<double> load_double(const float* p) { return widen(load_lanes<float, BYTES / 2>(p)); }
inline Full<double> load_some_double(const double* p, Size k) { return load_some(p, k); }
inline Full<double> load_some_double(const float* p, Size k) { return widen(load_some<float, BYTES / 2>(p, k)); }

template <class T>
inline T lesser_of(T x, T y) {
    return x < y ? x : y;
}
template <class T>
inline T greater_of(T x, T y) {
    return x > y ? x : y;
}

// The sum of all lanes, the least and the most of them: halves, quarters, ... are put together.
template <class T, Size bytes>
inline T total(Lanes<T, bytes> x) {
    if constexpr (bytes == 2 * sizeof(T)) {
        return x.v[0] + x.v[1];
    } else {
        return total(low_half(x) + high_half(x));
    }
}
template <class T, Size bytes>
inline T least(Lanes<T, bytes> x) {
    if constexpr (bytes == 2 * sizeof(T)) {
        return lesser_of<T>(x.v[0], x.v[1]);
    } else {
        return least(lesser(low_half(x), high_half(x)));
    }
}
template <class T, Size bytes>
inline T most(Lanes<T, bytes> x) {
    if constexpr (bytes == 2 * sizeof(T)) {
        return greater_of<T>(x.v[0], x.v[1]);
    } else {
        return most(greater(low_half(x), high_half(x)));
    }
}

// A number of lanes that the compiler knows.
template <Size n>
struct Fixed {
    constexpr operator Size() const { return n; }
};

// Call `body(j, k)` for the lanes from j on, of which k count: all of them but at the end.
template <class T, class Body>
inline void each(Size first, Size end, Body body) {
    Size j = first;
    for (; j + COUNT<T> <= end; j += COUNT<T>) body(j, Fixed<COUNT<T>>{});
    if (j < end) body(j, end - j);
}

template <class T, class K>
inline Full<T> read(const T* p, K k) {
    if constexpr (std::is_same_v<K, Size>) {
        return load_some<T, BYTES>(p, k);
    } else {
        return load(p);
    }
}
template <class T, class K>
inline Full<double> read_double(const T* p, K k) {
    if constexpr (std::is_same_v<K, Size>) {
        return load_some_double(p, k);
    } else {
        return load_double(p);
    }
}
template <class T, class K>
inline void write(T* p, Full<T> x, K k) {
    if constexpr (std::is_same_v<K, Size>) {
        store_some(p, x, k);
    } else {
        store(p, x);
    }
}

}  // namespace mercer::LEVEL
