"""Verdicts on functions whose conditional order is known."""

import numpy as np
import pytest

from cases_kernels import FAMILIES, FEATURES, STATIONARY
from mercer.kernels import (
    BSpline,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    PeriodicGaussian,
    Polyharmonic,
    Polynomial,
    Sigmoid,
    Spline,
    ThinPlate,
)
from mercer.kernels.callable import Callable, Pairwise
from mercer_research.kernels import Dirichlet, PowerSeries
from mercer_research.kernels.tabulated import Tabulated
from mercer_research.operators import conditional_order, is_kernel
from mercer_research.operators._witness import clouds, refute

# Orders as printed, and some that follow from Bernstein's theorem.
ORDERS = {
    "Gaussian": (lambda t: np.exp(-0.5 * t), 0),
    "inverse multiquadric": (lambda t: 1.0 / np.sqrt(1.0 + t), 0),
    "exponential": (lambda t: np.exp(-np.sqrt(t)), 0),
    "Matern 3/2": (lambda t: (1.0 + np.sqrt(3.0 * t)) * np.exp(-np.sqrt(3.0 * t)), 0),
    "constant": (lambda t: 1.0 + 0.0 * t, 0),
    "multiquadric": (lambda t: -np.sqrt(1.0 + t), 1),
    "minus distance": (lambda t: -np.sqrt(t), 1),
    "minus a small power": (lambda t: -(t**0.05), 1),
    "minus logarithm": (lambda t: -np.log1p(t), 1),
    "thin plate": (lambda t: 0.5 * t * np.log(t), 2),
    "cube": (lambda t: t**1.5, 2),
    "multiquadric cubed": (lambda t: (1.0 + t) ** 1.5, 2),
    "r^4 log r": (lambda t: -0.5 * t**2 * np.log(t), 3),
}


@pytest.mark.parametrize("name", ORDERS)
def test_conditional_order(name):
    h, order = ORDERS[name]
    verdict = conditional_order(h)
    assert verdict.order == order
    assert verdict
    assert verdict.method == "derivatives"


@pytest.mark.parametrize("name", ["inverse multiquadric", "multiquadric", "thin plate", "cube"])
def test_samples_agree_with_derivatives(name):
    """A function that cannot be traced is judged by projected Gram matrices: same order."""
    h, order = ORDERS[name]
    sampled = conditional_order(lambda t: h(np.asarray(t, dtype=float) if _is_array(t) else _no()))
    assert sampled.method == "samples"
    assert sampled.order == order
    if order:
        c, X = sampled.witness.coefficients, sampled.witness.points
        squares = ((X[:, None] - X) ** 2).sum(axis=2)
        with np.errstate(all="ignore"):
            K = np.nan_to_num(h(np.where(squares > 0.0, squares, 1e-100)))
        assert c @ K @ c < 0.0
        assert sampled.witness.order == order - 1


def _is_array(t):
    return isinstance(t, np.ndarray)


def _no():
    raise TypeError("not a jet")


REJECTED = {
    "minus cube": lambda t: -(t**1.5),
    "beyond Gaussian": lambda t: np.exp(-(t**1.05)),
    "cosine of the distance": lambda t: np.cos(np.sqrt(t)),
    "growing": lambda t: np.exp(t),
    "pole": lambda t: 1.0 / t,
    "logarithmic pole": lambda t: -np.log(t),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_at_every_order(name):
    verdict = conditional_order(REJECTED[name])
    assert verdict.order is None
    assert not verdict
    assert "not a kernel" in repr(verdict)


def test_the_distance_itself_may_be_the_argument():
    assert is_kernel(lambda r: np.exp(-r), of="distance").order == 0
    assert is_kernel(lambda r: -r, of="distance").order == 1
    assert is_kernel(lambda t: -np.sqrt(t), of="squared_distance").order == 1


@pytest.mark.parametrize(
    "t",
    [np.exp, np.cosh, np.sinh, lambda z: (z + 1.0) ** 3, lambda z: np.sinh(np.exp(z)),
     lambda z: 1.0 / (1.0 - 0.1 * z), lambda z: -np.log(1.0 - z)],
)  # fmt: skip
def test_power_series_without_negative_coefficients(t):
    verdict = is_kernel(t, of="inner_product")
    assert verdict.positive_definite
    assert verdict.method == "power series"


def test_the_sigmoid_fails_at_degree_three():
    verdict = is_kernel(np.tanh, of="inner_product")
    assert verdict.order is None
    assert "degree 3 is -0.333333" in verdict.reason
    X, c = verdict.witness.points, verdict.witness.coefficients
    assert c @ np.tanh(X @ X.T) @ c < -1e-3


def test_a_function_that_cannot_be_expanded_is_sampled():
    verdict = is_kernel(np.real, of="inner_product")  # not analytic on the complex plane
    assert verdict.method == "samples"
    assert verdict.positive_definite
    assert not is_kernel(lambda z: -np.abs(z), of="inner_product")


@pytest.mark.parametrize("kernel", [Sigmoid(), Sigmoid(0.1, -1.0)], ids=repr)
@pytest.mark.parametrize("dim", [1, 3])
def test_sigmoid_kernels_are_refuted(kernel, dim):
    verdict = is_kernel(kernel, dim=dim)
    assert verdict.order is None
    X, c = verdict.witness.points, verdict.witness.coefficients
    assert c @ kernel(X) @ c < 0.0


@pytest.mark.parametrize("degree", range(9))
def test_even_b_splines_are_refuted_and_odd_ones_are_not(degree):
    kernel = BSpline(1.7, degree)
    verdict = is_kernel(kernel)
    assert verdict.method == "spectrum"
    assert verdict.positive_definite == (degree % 2 == 1)
    if degree % 2 == 0:
        X, c = verdict.witness.points, verdict.witness.coefficients
        assert c @ kernel(X) @ c < 0.0
        # The lobes of sinc^(q+1): the first side lobe of sinc is -0.217234, at 2.86059 pi.
        value = float(verdict.reason.split()[1])
        assert value == pytest.approx(-(0.217233628 ** (degree + 1)), rel=1e-3)  # four digits shown


@pytest.mark.parametrize("kernel", [k for k in STATIONARY if k.radial], ids=repr)
def test_stationary_kernels_of_the_library(kernel):
    verdict = is_kernel(kernel, dim=FEATURES)
    assert verdict.positive_definite
    assert verdict.method == "spectrum"


@pytest.mark.parametrize(
    ("kernel", "dim", "order"),
    [
        (Polyharmonic(1.0), 1, 1),
        (Polyharmonic(1.0), 3, 1),
        (Polyharmonic(3.0), 2, 2),
        (Polyharmonic(2.0), 2, 2),
        (ThinPlate(2), 1, 2),
        (ThinPlate(2), 2, 2),
        (Linear(), 2, 0),
        (Polynomial(2, coef0=1.0), 2, 0),
        (PeriodicGaussian(0.3), 1, 0),
        (Dirichlet(3), 1, 0),
        (Spline(2), 1, 0),
    ],
    ids=repr,
)
def test_order_of_kernels(kernel: Kernel, dim, order):
    assert is_kernel(kernel, dim=dim).order == order


# A table's spectrum is computed by quadrature, which takes seconds: its own tests look at it.
CONDITIONAL = [
    k for k in FAMILIES if (k.order or not k.positive_definite) and not isinstance(k, Tabulated)
]


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=repr)
def test_conditional_and_indefinite_kernels_of_the_library_say_what_they_are(kernel: Kernel):
    verdict = is_kernel(kernel, dim=FEATURES)
    assert bool(verdict) == kernel.positive_definite
    assert verdict.order is None or verdict.order <= kernel.order
    if kernel.positive_definite and kernel.radial and not isinstance(kernel, ThinPlate):
        # A thin plate keeps the order of its penalty; in many dimensions a lower one would do.
        assert verdict.order == kernel.order


def test_points_that_a_kernel_refuses_are_passed_over():
    assert is_kernel(PowerSeries("exp", 0.3 * Linear()), dim=3).positive_definite
    with pytest.raises(ValueError, match="one feature"):
        is_kernel(Spline(2), dim=2)


def test_a_kernel_that_lies_about_its_order_is_caught():
    class Bold(Polyharmonic):
        @property
        def order(self):
            return 0

    verdict = is_kernel(Bold(3.0))
    assert verdict.order == 2
    assert verdict.method == "samples"


def test_plain_functions_of_points():
    assert is_kernel(lambda X, Z: (X @ Z.T) ** 2, dim=2).positive_definite
    assert not is_kernel(lambda X, Z: -(X @ Z.T), dim=2).positive_definite
    crooked = is_kernel(lambda X, Z: X[:, :1] + 2.0 * Z[:, 0])
    assert not crooked.symmetric
    assert not crooked


def test_a_function_of_the_difference():
    assert is_kernel(lambda u: np.exp(-np.abs(u)), of="difference").positive_definite
    assert is_kernel(lambda u: (np.abs(u) < 1.0) * 1.0, of="difference").order is None


def test_objects_need_points_of_the_user():
    words = ["ab", "bc", "d", "abc"]
    kernel = Pairwise(lambda x, z: float(len(set(x) & set(z))))
    assert is_kernel(kernel, words).positive_definite
    bad = Pairwise(lambda x, z: -float(len(set(x) & set(z))))
    assert not is_kernel(bad, words).positive_definite


def test_the_argument_of_a_function_is_checked():
    with pytest.raises(ValueError, match="of must be"):
        is_kernel(np.exp, of="angle")


def test_refutation_ignores_rounding():
    # A Gaussian of ten times the spacing has eigenvalues down to 1e-40: all rounding.
    gaussian = Gaussian(10.0)
    assert refute(gaussian, [np.arange(40.0)[:, None]]) is None
    assert refute(lambda X: gaussian(X) - 0.5, [np.arange(40.0)[:, None]]) is not None


def test_clouds_have_the_dimension_asked_for():
    assert {X.shape[1] for X in clouds(3, (1.0,))} == {3}


def test_matern_is_judged_in_several_dimensions():
    assert is_kernel(Matern(nu=1.0), dim=2).where == "R^2"
    assert is_kernel(Callable(lambda X, Z: X @ Z.T), dim=2).method == "samples"
