"""Scales of features, folded into kernels."""

import numpy as np
import pytest

from cases_kernels import KERNELS
from mercer.kernels import Gaussian, Linear, Periodic, Precomputed, Stretched, Wendland
from mercer.kernels.stretched import stretch
from mercer_research.kernels import fourier_transform

X = np.random.default_rng(0).normal(size=(9, 3))
SCALE = np.array([0.5, 2.0, 3.0])
NUMERIC = [kernel for kernel in KERNELS if kernel.numeric and not kernel.precomputed]


@pytest.mark.parametrize("scale", [SCALE, 1.7], ids=["each", "all"])
@pytest.mark.parametrize("kernel", NUMERIC, ids=repr)
def test_stretching_is_dividing_the_features(kernel, scale):
    K = kernel(X)
    # X * scale / scale is X to two roundings, which steep kernels make a few hundred times larger.
    tolerance = 1e-10 * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(stretch(kernel, scale)(X * scale), K, rtol=0, atol=tolerance)


def test_scales_go_into_length_scales():
    kernel = stretch(2.0 * Gaussian(0.5) + (Gaussian() * Linear()).on([2, 0]), SCALE)
    np.testing.assert_array_equal(kernel.left.kernel.length_scale, 0.5 * SCALE)
    np.testing.assert_array_equal(kernel.right.kernel.left.length_scale, SCALE[[2, 0]])
    np.testing.assert_array_equal(kernel.right.kernel.right.scale, SCALE[[2, 0]])


def test_units_of_one_leave_a_kernel_alone():
    kernel = Gaussian()
    assert stretch(kernel, np.ones(3)) is kernel


def test_a_stretched_period_is_longer():
    kernel = stretch(Periodic(period=2.0), 3.0)
    assert kernel.period == 6.0
    assert stretch(Periodic(period=2.0), [1.0, 2.0]).period is None


def test_spectrum_in_one_dimension_is_the_transform():
    omega = np.array([0.0, 0.3, 0.9])
    found = fourier_transform(Gaussian(2.4), omega).values
    np.testing.assert_allclose(Stretched(Gaussian(1.2), 2.0).spectrum(omega), found, rtol=1e-10)


def test_spectrum_in_three_dimensions_is_that_of_the_folded_kernel():
    omega = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(
        Stretched(Gaussian(1.3), SCALE).spectrum(omega, 3),
        Gaussian(1.3 * SCALE).spectrum(omega, 3),
        rtol=1e-13,
    )
    with pytest.raises(ValueError, match="pass frequency vectors"):
        Stretched(Gaussian(1.3), SCALE).spectrum(np.ones(2), 3)


def test_support_is_stretched():
    np.testing.assert_array_equal(
        Stretched(Wendland(2.0), SCALE).support.scale, Wendland(2.0 * SCALE).support.scale
    )


def test_bad_scales_are_refused():
    for scale in (0.0, [1.0, -1.0], np.inf, [[1.0]]):
        with pytest.raises(ValueError, match="scale must be"):
            stretch(Gaussian(), scale)
    with pytest.raises(ValueError, match="sees no features"):
        Stretched(Precomputed(), 2.0)
    with pytest.raises(ValueError, match="2 entries"):
        Stretched(Linear(), [1.0, 2.0])(X)
