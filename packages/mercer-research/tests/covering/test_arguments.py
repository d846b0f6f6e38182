"""Arguments that cannot be: contradicted by the matrix at hand, or no numbers of their kind."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear
from mercer.losses import Squared
from mercer_research import covering as c

NAN, INF = np.nan, np.inf
SPECTRUM = -np.arange(5.0)
Z, LEFT = np.diag([1.0, 0.5, 0.1]), np.zeros(3)
K3 = Gaussian()(np.array([[0.0], [0.7], [2.0]]))
TWO = c.FiniteClass(np.log(2))
LINE = c.Interval(1.0)

POSITIVE = (-1.0, 0.0, NAN, INF)
ZERO_TOO = (-1.0, NAN, INF)
COUNT = (0, -1, 1.5, NAN)
COUNT_OR_ZERO = (-1, 1.5, NAN)


def _bound(inequality, **how):
    return inequality.width(TWO, **{"n_samples": 100, "delta": 0.05} | how)


# By call, the argument that its message begins with, and values.
REFUSED = [
    *(
        (lambda v, make=make: make(v), name, values)
        for name, values, makes in (
            (
                "outputs",
                COUNT,
                (
                    lambda v: c.BestScaling(SPECTRUM, outputs=v),
                    lambda v: c.MeasuredScaling(Z, LEFT, outputs=v),
                    lambda v: c.Truncation.from_spectrum(SPECTRUM, outputs=v),
                    lambda v: c.KernelBall.from_gram(K3, outputs=v),
                    lambda v: c.CoefficientBall.from_gram(K3, outputs=v),
                    lambda v: c.HilbertBall(3, outputs=v),
                    lambda v: c.Cube(3, outputs=v),
                    lambda v: c.ConvexHull(3, 2, outputs=v),
                    lambda v: c.ExponentialDecay(1.0, outputs=v),
                    lambda v: c.mixed_norm_factor(v, 1),
                ),
            ),
            (
                "norm",
                POSITIVE,
                (
                    lambda v: c.BestScaling([0.0, -1.0], norm=v),
                    lambda v: c.MeasuredScaling(Z, LEFT, norm=v),
                    lambda v: c.Truncation.from_factor(Z, LEFT, norm=v),
                    lambda v: c.KernelBall.from_spectrum(SPECTRUM, norm=v),
                    lambda v: c.KernelBall.from_gram(K3, norm=v),
                    lambda v: c.PolynomialDecay(1.0, norm=v),
                    lambda v: c.log_volume_bound(K3, 0.1, norm=v),
                    lambda v: c.log_packing_bound(K3, 0.1, norm=v),
                    lambda v: c.lattice_rate(10.0, 0.5, 2.0, 6.0, 2, norm=v),
                    lambda v: c.shattering_margin(K3, v),
                    lambda v: c.matched_kernel(
                        Gaussian(), Gaussian(), np.ones((3, 1)), norm=v, precision=1.0
                    ),
                ),
            ),
            ("power", (0, 3, -1, 1.5, NAN), (lambda v: c.BestScaling(SPECTRUM, power=v),)),
            ("power", POSITIVE, (lambda v: c.Distortion(power=v),)),
            ("power", (0.5, NAN), (lambda v: c.Box(1.0, v), lambda v: c.mixed_norm_factor(2, v))),
            (
                "radius",
                (-1.0, 0.0, NAN),
                (
                    *(
                        lambda v, cover=cover: cover.log_covering(v)
                        for cover in (
                            LINE,
                            LINE + LINE,
                            TWO,
                            c.BestScaling(SPECTRUM),
                            c.HilbertBall(3),
                            c.KernelBall.from_gram(K3),
                            c.PointCover(np.arange(9.0)),
                            c.Box(2.0),
                        )
                    ),
                    c.PointCover(np.arange(9.0)).log_lower,
                    lambda v: c.log_volume_bound(K3, v),
                    lambda v: c.log_covering_from_below(lambda margin: 1.0, v),
                    lambda v: c.finite_classes().sample_size(TWO, v),
                ),
            ),
            ("radius", ZERO_TOO, (lambda v: c.exact_cover([0.0, 1.0], v),)),
            (
                "n_samples",
                COUNT,
                (
                    lambda v: _bound(c.finite_classes(), n_samples=v),
                    lambda v: c.vc_bound(0.1, v, 3),
                    lambda v: c.linear_margin_bound(0.1, v, 0.5, constant=1.0),
                    lambda v: c.combination_margin_bound(0.1, v, 0.5, 3, constant=1.0),
                    lambda v: c.margin_bound(LINE, 0.1, v),
                    lambda v: c.Distortion().deviation(TWO, v),
                    lambda v: c.Distortion().mean_excess(TWO, v),
                    lambda v: c.losses_of(LINE, 1.0, v),
                ),
            ),
            (
                "delta",
                (0.0, 1.0, -0.1, NAN),
                (
                    lambda v: _bound(c.finite_classes(), delta=v),
                    lambda v: c.vc_bound(0.1, 100, 3, v),
                    lambda v: c.margin_bound(LINE, 0.1, 100, v),
                    lambda v: c.margin_distribution_bound(np.ones(9), 1.0, v),
                    lambda v: c.adaptive_margin_bound(np.eye(2), [1, -1], [1.0, -1.0], v),
                    lambda v: c.Distortion().excess(TWO, 100, v),
                    lambda v: c.share_delta(v, 2),
                ),
            ),
            (
                "empirical",
                (-0.1, 1.1, NAN),
                (
                    lambda v: c.vc_bound(v, 100, 3),
                    lambda v: c.margin_bound(LINE, 0.1, 100, empirical=v),
                    lambda v: c.structural_risk([TWO], [v], c.finite_classes(), 100),
                    lambda v: c.risk_bound_by_covering(
                        LINE, Squared(), [-0.5, 0.5], 0.5, empirical=v, n_samples=100
                    ),
                ),
            ),
            (
                "margin",
                POSITIVE,
                (
                    lambda v: c.margin_bound(LINE, v, 100),
                    lambda v: c.linear_margin_bound(0.1, 100, v, constant=1.0),
                    lambda v: c.combination_margin_bound(0.1, 100, v, 3, constant=1.0),
                    lambda v: c.margin_distribution_bound(np.ones(9), v),
                    lambda v: c.fat_dimension([[0.0], [1.0]], v),
                    lambda v: c.vary_levels(2, v),
                    lambda v: c.fat_dimension_bound(v),
                    lambda v: c.sparse_fat_dimension_bound(v, 3, constant=1.0),
                    lambda v: c.large_margin_dimension(v),
                    lambda v: c.sample_radii(Linear(), np.eye(2), margin=v),
                ),
            ),
            ("margin", ZERO_TOO, (lambda v: c.margin_errors([1], [0.5], v),)),
            (
                "constant",
                POSITIVE,
                (
                    lambda v: c.vc_bound_to_a_constant(0.1, 100, 3, constant=v),
                    lambda v: c.linear_margin_bound(0.1, 100, 0.5, constant=v),
                    lambda v: c.combination_margin_bound(0.1, 100, 0.5, 3, constant=v),
                    lambda v: c.sparse_fat_dimension_bound(0.5, 3, constant=v),
                    lambda v: c.CarlBound(3, constant=v),
                ),
            ),
            (
                "dimension",
                COUNT_OR_ZERO,
                (
                    lambda v: c.vc_bound(0.1, 100, v),
                    lambda v: c.log_growth(10, v),
                    lambda v: c.PseudoCovering(v),
                ),
            ),
            ("dimension", ZERO_TOO, (lambda v: c.vary_levels(v, 0.5),)),
            (
                "size",
                POSITIVE,
                (
                    lambda v: c.margin_distribution_bound(np.zeros(9), 1.0, size=v),
                    lambda v: c.adaptive_margin_bound(np.eye(2), [1, -1], [1.0, -1.0], size=v),
                    lambda v: c.KernelBall.from_spectrum(SPECTRUM, n_points=3, size=v),
                    lambda v: c.Distortion(v),
                    lambda v: c.CurvesOfLength(1.0, 2, v),
                    lambda v: c.fat_dimension_bound(0.5, 1.0, v),
                ),
            ),
            (
                "largest",
                ZERO_TOO,
                (
                    c.Interval,
                    c.finite_classes,
                    lambda v: c.with_offset(LINE, v),
                    lambda v: c.Cube(3, v),
                    lambda v: c.LipschitzClass(1.0, LINE, c.HilbertBall, largest=v),
                ),
            ),
            ("largest", POSITIVE, (lambda v: c.loss_range(Squared(), [0.0, 1.0], v),)),
            (
                "n_points",
                COUNT,
                (c.HilbertBall, c.Cube, c.CarlBound, lambda v: c.log_growth(v, 3)),
            ),
            ("n_atoms", COUNT, (lambda v: c.ConvexHull(3, v),)),
            ("radius_of_ball", ZERO_TOO, (lambda v: c.HilbertBall(3, v),)),
            ("rate", POSITIVE, (c.ExponentialDecay, c.exponential_law)),
            ("exponent", POSITIVE, (c.PolynomialDecay, c.power_law, c.evaluation_rate)),
            ("slope", ZERO_TOO, (lambda v: c.LipschitzClass(v, LINE, c.HilbertBall),)),
            ("factor", ZERO_TOO, (lambda v: c.Scaled(LINE, v),)),
            ("lipschitz", ZERO_TOO, (lambda v: c.losses_of(LINE, v),)),
            ("jump", ZERO_TOO, (lambda v: c.AlmostLipschitz(LINE, 1.0, v),)),
            ("length", ZERO_TOO, (lambda v: c.CurvesOfLength(v, 2),)),
            ("log_count", (-1.0, NAN), (c.FiniteClass,)),
            ("log_tail", (NAN, INF), (lambda v: c.BestScaling(SPECTRUM, log_tail=v),)),
            ("eigenfunction_bound", POSITIVE, (lambda v: c.Spectrum(SPECTRUM, None, -INF, v),)),
            ("n_features", COUNT, (lambda v: c.sparse_fat_dimension_bound(0.5, v, constant=1.0),)),
            ("n_classes", COUNT, (lambda v: c.share_delta(0.05, v),)),
            (
                "deltas",
                (0.0, -0.01, NAN),
                (lambda v: c.structural_risk([TWO], [0.1], c.finite_classes(), 100, deltas=[v]),),
            ),
            ("rank", COUNT_OR_ZERO, (lambda v: c.log_sign_patterns(4, v),)),
            ("values", (NAN, INF), (lambda v: c.fat_dimension([[v], [1.0]], 0.5),)),
            ("labels", (NAN, INF), (lambda v: c.vc_dimension([[v], [1.0]]),)),
            ("values", (NAN,), (lambda v: c.count_sign_patterns([[v], [1.0]]),)),
            ("period", POSITIVE, (lambda v: c.wrap_error(Gaussian(), v, 1.0),)),
            ("half_width", POSITIVE, (lambda v: c.choose_period(Gaussian(), v),)),
            ("target", ZERO_TOO, (lambda v: c.equal_capacity(Gaussian(), v, 0.1, c.HilbertBall),)),
        )
        for make in makes
    )
]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        pytest.param(call, name, value, id=f"{i}-{name}-{value}")
        for i, (call, name, values) in enumerate(REFUSED)
        for value in values
    ],
)
def test_impossible_arguments(call, name, value):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        call(value)


def test_empty_classes():
    for empty in (np.zeros((0, 3)), np.zeros((3, 0))):
        with pytest.raises(ValueError, match="at least one function"):
            c.fat_dimension(empty, 0.5)


def test_rates_that_name_no_number():
    with pytest.raises(ValueError, match="log_power must be positive"):
        c.covering_rate(c.Rate(INF))
    with pytest.raises(ValueError, match="power is at most 0, got 2"):
        c.excess_rate(c.Rate(2.0))


# The matrix at hand -------------------------------------------------------------------------------


def test_coins_are_not_certified_by_a_size_below_the_diagonal():
    """The labels are coins, so that no bound below 1/2 holds; K = I has points of length 1."""
    m = 4000
    y = np.random.default_rng(0).choice([-1.0, 1.0], m)
    for size in (0.001, 0.004, 0.999):
        with pytest.raises(ValueError, match=r"size=.* the diagonal of K contradicts it"):
            c.adaptive_margin_bound(np.eye(m), y, y, size=size)
    assert not c.adaptive_margin_bound(np.eye(m), y, y, size=1.0).valid
    assert not c.adaptive_margin_bound(np.eye(m), y, y).valid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_size_that_is_the_rounded_diagonal(dtype):
    K = Gaussian()(np.random.default_rng(0).normal(size=(20, 2))).astype(dtype)
    K *= dtype(0.3)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    bound = c.adaptive_margin_bound(K, y, y, size=float(np.sqrt(0.3)))
    assert bound.constants["capacity"].value >= 65


def test_labels_are_signs():
    for call in (
        lambda: c.adaptive_margin_bound(np.eye(4), [0, 0, 1, 1], [1.0, 1, -1, -1]),
        lambda: c.margin_errors([0, 1], [0.5, 0.5], 0.1),
        lambda: c.margin_errors([2, 1], [0.5, 0.5], 0.1),
    ):
        with pytest.raises(ValueError, match="labels -1 and 1, got"):
            call()
    with pytest.raises(ValueError, match="y has 2 rows and f has 3"):
        c.margin_errors([-1, 1], [0.5, 0.5, 0.5], 0.1)


def test_a_matrix_that_no_kernel_has():
    """|f_i| is at most the norm times the length of the point, or K has a negative direction."""
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="K must be positive semidefinite"):
        c.adaptive_margin_bound(K, [1, -1], [1.0, -1.0])
    with pytest.raises(ValueError, match="K has the eigenvalue -1"):
        c.shattering_margin(K)
    for wrong in (np.ones((2, 3)), np.full((2, 2), NAN)):
        with pytest.raises(ValueError, match="K must be"):
            c.adaptive_margin_bound(wrong, [1, -1], [1.0, -1.0])
        with pytest.raises(ValueError, match="K must be"):
            c.shattering_margin(wrong)


def test_ill_conditioned_matrices_are_no_contradiction():
    """Coefficients of 1e10 that cancel: rounding of the sums is allowed for."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = np.random.default_rng(1).choice([-1.0, 1.0], 60)
    K = Gaussian(1.0)(x)
    coef = np.linalg.solve(K, y)
    assert np.max(np.abs(coef)) > 1e9
    assert c.adaptive_margin_bound(K, y, coef, size=1.0).constants["capacity"].value >= 65


def test_margins_that_no_function_of_the_class_has():
    for call in (
        lambda: c.margin_distribution_bound(np.full(10**5, 3.0), 1.0),
        lambda: c.margin_distribution_bound(np.full(10**5, -3.0), 1.0),
        lambda: c.covering_bound(np.full(1000, 1.5)),
    ):
        with pytest.raises(ValueError, match=r"margins reach .* \(Cauchy and Schwarz\)"):
            call()
    for call in (
        lambda: c.linear_margin_bound(0.0, 10**6, 2.0, constant=1.0),
        lambda: c.combination_margin_bound(0.1, 10**6, 2.0, 3, constant=1.0),
        lambda: c.large_margin_dimension(2.0),
    ):
        with pytest.raises(ValueError, match=r"margin=2\.0 exceeds"):
            call()


def test_a_constant_column_is_never_shattered():
    """Four corners have two points to shatter, whatever constant stands beside them."""
    corners = [[a, b] for a in (0, 1) for b in (0, 1)]
    for constant in (0.0, 1e9, 1e13, 1e16, 1e300):
        values = np.column_stack([corners, np.full(4, constant)])
        assert c.fat_dimension(values, 0.5) == 2
        assert c.fat_dimension(values, 0.500001) == 0
    # Rounding of 0.1 + 0.2 does not cost a point, in any unit.
    for unit in (1.0, 1e-12, 1e12):
        assert c.fat_dimension(unit * np.array([[0.1], [0.1 + 0.2]]), unit * 0.1) == 1
        assert c.fat_dimension(unit * np.array([[0.3], [0.1]]), unit * 0.1) == 1
