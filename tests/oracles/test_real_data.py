r"""On real data our machines are LIBSVM's, as closely as the two stopping tolerances allow.

How close that is follows from the measured violations. Let :math:`F = Ka + Bb` meet the optimality
conditions up to :math:`\delta`: some :math:`s_i \in \partial h_i(a_i)`, with :math:`h_i` the dual
loss of a sample, has :math:`|F_i + s_i| \le \delta`. For two such points of one problem
:math:`B'(a - a') = 0` and the :math:`s_i` are monotone in :math:`a_i`, hence with
:math:`\Delta = (\delta + \delta') \|a - a'\|_1`

.. math:: \|Ka - Ka'\|_K^2 = (a - a')'(F - F') \le \Delta.

Also the two duality gaps bound it: a gap is the excess of the primal plus that of the dual over the
optimum, each at least half the squared distance from it, so that
:math:`\|Ka - Ka^*\|_K^2 \le \text{gap}`. With :math:`r` the smaller of :math:`\sqrt\Delta` and
:math:`\sqrt{\text{gap}} + \sqrt{\text{gap}'}`, expansions differ by at most
:math:`r \sqrt{k(x, x)}` at any point.

Coefficients that differ do so upwards somewhere and downwards elsewhere, as their sums agree. Where
:math:`a_i > a'_i`, monotonicity says :math:`F_i \le F'_i + \delta + \delta'`: intercepts differ by
at most :math:`r \sqrt{k(x_i, x_i)} + \delta + \delta'`. Concavity bounds the difference of dual
values by :math:`\delta \|a - a'\|_1`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import sklearn.svm
from numpy.typing import NDArray

import mercer
from data import MISSING, Sample, draw
from fitted import Expansion, expansions
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_classification, nu_regression, one_class
from mercer.problems.risk import Certificate
from mercer.solvers.certify import snap_to_box

pytestmark = [pytest.mark.data, pytest.mark.skipif(bool(MISSING), reason=MISSING)]

Array = NDArray[np.float64]

# Rows, and rows for the tightened tolerance; features are standardized and gamma is one over their
# number.
CLASSIFICATION = {
    "a9a": (2500, 500),
    "ijcnn1": (2500, 500),
    "letter": (1300, 520),
    "pendigits": (1500, 500),
    "satimage": (2000, 500),
    "spambase": (2000, 500),
}
REGRESSION = {
    "abalone": (1500, 300),
    "california": (1500, 300),
    "cpusmall": (1500, 300),
    "kin8nm": (1500, 300),
}
ROWS = CLASSIFICATION | REGRESSION
SETTINGS: dict[str, dict[str, float]] = {
    "SVC": {"C": 10.0},
    "NuSVC": {"nu": 0.1},
    "SVR": {"C": 10.0, "epsilon": 0.1},
    "NuSVR": {"C": 1.0, "nu": 0.5},
    "OneClassSVM": {"nu": 0.1},
}
CASES = [
    *((machine, name) for machine in ("SVC", "NuSVC") for name in CLASSIFICATION),
    *((machine, name) for machine in ("SVR", "NuSVR") for name in REGRESSION),
    *(("OneClassSVM", name) for name in ROWS),
]


class Point(NamedTuple):
    """A machine in the terms of a problem, its certificate, and the width of its margin."""

    risk: RegularizedRisk
    a: Array
    b: Array
    certificate: Certificate
    width: float


def fit(library: Any, machine: str, sample: Sample, tol: float) -> Any:
    settings = {**SETTINGS[machine], "gamma": 1.0 / sample.X.shape[1], "tol": tol}
    if machine.endswith("SVC"):
        settings["decision_function_shape"] = "ovo"
    return getattr(library, machine)(**settings).fit(sample.X, sample.y)


def values(fitted: Any, X: Array) -> Array:
    """Evaluate decision values, one column an expansion."""
    function = getattr(fitted, "decision_function", fitted.predict)
    return np.asarray(function(X)).reshape(len(X), -1)


def locate(machine: str, e: Expansion, X: Array) -> Point:
    """Put fitted coefficients into the problem they claim to solve."""
    settings = SETTINGS[machine]
    K = Dense(Gaussian.from_gamma(1.0 / X.shape[1])(X[e.rows]))
    n, ones = len(e.rows), np.ones((len(e.rows), 1))
    a, b, width = e.a, np.array([e.b]), 1.0
    if machine == "SVC":
        risk = RegularizedRisk(Hinge(), K, e.y, settings["C"], ones)
    elif machine == "NuSVC":
        risk = nu_classification(K, e.y, np.ones(n), settings["nu"])
        # Both libraries divide by the margin's width, which the sum of coefficients tells.
        width = float(risk.d[0] / a[e.y > 0].sum())
        a, b = a * width, width * np.array([e.b - 1.0, e.b + 1.0])
    elif machine == "SVR":
        risk = RegularizedRisk(EpsilonInsensitive(settings["epsilon"]), K, e.y, settings["C"], ones)
    elif machine == "NuSVR":
        risk = nu_regression(K, e.y, np.full(n, settings["C"]), settings["nu"])
        f = K.matvec(a) + e.b
        free = (np.abs(a) > 0) & (np.abs(a) < settings["C"])
        epsilon = float(np.mean(np.abs(e.y - f)[free]))
        a = np.concatenate([np.maximum(a, 0.0), np.minimum(a, 0.0)])
        b = np.array([e.b + epsilon, e.b - epsilon])
    else:
        risk = one_class(K, np.ones(n), settings["nu"])
    a = snap_to_box(risk, a)
    return Point(risk, a, b, risk.certificate(a, b), width)


def bounds(ours: Point, theirs: Point) -> tuple[float, float]:
    """Bound the difference of decision values, and that of widths, by what the certificates say.

    The kernel is one on the diagonal.
    """
    delta = ours.certificate.violation + theirs.certificate.violation
    by_violation = np.sqrt(delta * np.abs(ours.a - theirs.a).sum())
    by_gap = np.sqrt(ours.certificate.gap) + np.sqrt(theirs.certificate.gap)
    r = min(by_violation, by_gap)
    intercept = 0.0
    for column, b, b_theirs in zip(ours.risk.B.T, ours.b, theirs.b, strict=True):
        differ = np.any(ours.a[column != 0] != theirs.a[column != 0])
        intercept = max(intercept, r + delta if differ else abs(b - b_theirs))
    return r + intercept, intercept


def rounding(p: Point) -> float:
    """Bound the rounding of sums over the sample: decision values and dual values."""
    terms = np.abs(p.a).sum() / p.width + np.abs(p.b).sum() + abs(p.certificate.dual)
    return float(len(p.a) * np.finfo(float).eps * terms)


def compare(
    machine: str, sample: Sample, tol: float
) -> Iterator[tuple[Point, Point, Array, Array]]:
    """Fit both libraries; yield certified points and decision values of each expansion."""
    ours, theirs = (fit(library, machine, sample, tol) for library in (mercer, sklearn.svm))
    target = np.ones(len(sample.y)) if machine == "OneClassSVM" else sample.y
    for e, e_theirs, f, g in zip(
        expansions(ours, target),
        expansions(theirs, target),
        values(ours, sample.X_test).T,
        values(theirs, sample.X_test).T,
        strict=True,
    ):
        k = Gaussian.from_gamma(1.0 / sample.X.shape[1])(sample.X_test, sample.X[e.rows])
        np.testing.assert_allclose(f, k @ e.a + e.b, rtol=1e-9, atol=1e-9 * np.abs(e.a).sum())
        p, q = locate(machine, e, sample.X), locate(machine, e_theirs, sample.X)
        assert p.certificate.violation <= tol
        assert max(p.certificate.residual, q.certificate.residual) <= 1e-9
        yield p, q, f, g


@pytest.mark.parametrize(("machine", "name"), CASES)
def test_agrees_with_libsvm_within_what_the_tolerance_implies(machine, name):
    for p, q, f, g in compare(machine, draw(name, ROWS[name][0], 300), tol=1e-3):
        error, width = bounds(p, q)
        if machine == "NuSVC":  # what is compared was divided by each machine's own width
            error = error + width * np.abs(g)
        assert np.all(np.abs(f - g) <= error / p.width + rounding(q))
        slack = p.certificate.violation * np.abs(p.a - q.a).sum()
        assert p.certificate.dual >= q.certificate.dual - slack - rounding(q)


@pytest.mark.parametrize(("machine", "name"), CASES)
def test_agrees_with_libsvm_when_the_tolerance_is_tight(machine, name):
    for p, q, f, g in compare(machine, draw(name, ROWS[name][1], 300), tol=1e-6):
        # The tolerance of a nu-classifier is in units of its width.
        np.testing.assert_allclose(p.width * f, p.width * g, rtol=1e-4, atol=1e-4)
        assert p.certificate.dual >= q.certificate.dual - 1e-6 * (1.0 + abs(q.certificate.dual))
