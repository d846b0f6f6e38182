"""Names mean what they mean in scikit-learn."""

import re
from inspect import isabstract
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from mercer import kernels
from mercer.kernels import (
    ANOVA,
    Additive,
    BSpline,
    Cauchy,
    DampedOscillator,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    Periodic,
    PeriodicGaussian,
    Polyharmonic,
    Polynomial,
    PoweredExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    ThinPlate,
    Wendland,
    named,
)
from mercer.kernels.callable import Callable
from mercer.kernels.named import ALIASES, FREE, NAMES, resolve, resolve_gamma

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)) * 3.0
y = np.repeat([0, 1], 15)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7, 2])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_gamma_is_that_of_scikit_learn(gamma, layout):
    fitted = SVC(gamma=gamma).fit(layout(X), y)._gamma
    assert resolve_gamma(gamma, layout(X)) == fitted


def test_gamma_of_data_without_variance_is_one():
    assert resolve_gamma("scale", np.ones((3, 2))) == 1.0
    assert resolve_gamma("scale", sparse.csr_array((3, 2))) == 1.0


def test_gamma_of_sparse_rows_far_from_zero_is_that_of_dense_rows():
    """A difference of means was negative here, and gamma no number that a kernel takes."""
    X = np.random.default_rng(0).normal(size=(30, 3)) + 1e8
    assert resolve_gamma("scale", sparse.csr_array(X)) == pytest.approx(1.0 / (3 * X.var()))


def test_gamma_of_large_data_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(named, "BLOCK_BYTES", 200)
    assert resolve_gamma("scale", X) == pytest.approx(1.0 / (4 * X.var()), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(2, 0.5, 1.5)),
        ("rbf", Gaussian(1.0)),
        ("sigmoid", Sigmoid(0.5, 1.5)),
        ("laplacian", Laplacian(2.0)),
        ("matern", Matern(1.0, 1.5)),
        ("rational_quadratic", RationalQuadratic(1.0, 1.0)),
        ("precomputed", Precomputed()),
        ("powered_exponential", PoweredExponential(1.0)),
        ("cauchy", Cauchy(1.0)),
        ("damped_oscillator", DampedOscillator(1.0)),
        ("inverse_multiquadric", InverseMultiquadric(1.0)),
        ("multiquadric", Multiquadric(1.0)),
        ("thin_plate", ThinPlate()),
        ("polyharmonic", Polyharmonic()),
        ("periodic", Periodic()),
        ("periodic_gaussian", PeriodicGaussian()),
        ("additive", Additive(Gaussian(1.0))),
        ("anova", ANOVA(Gaussian(1.0))),
        ("bspline", BSpline(np.sqrt(3.0))),
        ("wendland", Wendland(np.sqrt(20.0))),
    ],
)
def test_names(name, expected):
    assert resolve(name, X, gamma=0.5, degree=2, coef0=1.5) == expected


def test_every_name_is_tested():
    mark = next(mark for mark in test_names.pytestmark if mark.name == "parametrize")
    assert {name for name, _ in mark.args[1]} == {*named.NAMES, *named.FREE} - {*named.ALIASES}


def test_compact_kernels_reach_as_far_as_makes_them_gaussian():
    gaussian, omega = resolve("rbf", X, gamma=0.7), np.array([0.0, 0.02])
    spline = resolve("bspline", X, gamma=0.7)
    ratio = spline.spectrum(omega) / gaussian.spectrum(omega)
    # Both fall like 1 - l^2 w^2 / 2 from zero; the next terms are of the size (l w)^4 = 1e-7.
    assert ratio[1] / ratio[0] == pytest.approx(1.0, abs=1e-7)
    near = np.array([[0.0], [1e-3]])
    wendland = resolve("wendland", X, gamma=0.7)
    fall = (1.0 - wendland(near)[0, 1]) / (1.0 - gaussian(near)[0, 1])
    # 20 r^3 against 10 r^2 at r = 1e-3 / 3.8.
    assert fall == pytest.approx(1.0, abs=1e-3)


def test_gamma_zero_is_an_infinite_width():
    assert resolve("rbf", X, gamma=0.0) == Gaussian(np.inf)
    assert resolve("laplacian", X, gamma=0.0) == Laplacian(np.inf)


def test_kernels_and_functions():
    kernel = Gaussian(3.0)
    assert resolve(kernel, X) is kernel
    assert resolve(np.dot, X) == Callable(np.dot)


def test_names_without_gamma_do_not_look_at_the_data():
    assert resolve("linear", None) == Linear()


@pytest.mark.parametrize("kernel", ["rfb", None, 3])
def test_unknown_kernels_are_refused_with_the_names(kernel):
    with pytest.raises(ValueError, match=r"laplacian, linear, matern, multiquadric, .*thin_plate"):
        resolve(kernel, X)


@pytest.mark.parametrize("gamma", ["scales", -1.0, np.nan, np.inf, [1.0]])
def test_nonsense_gamma_is_refused_with_a_sentence(gamma):
    with pytest.raises(ValueError, match="gamma must be 'scale', 'auto', 'median' or a number"):
        resolve("rbf", X, gamma=gamma)


def test_the_table_of_the_page_has_every_kernel_with_its_name():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "choose-a-kernel.md"
    rows = re.findall(r'^\| `(\w+)` \|.*\| (?:`"(\w+)"`)? \|$', page.read_text("utf-8"), re.M)
    algebra = {"ActiveDims", "Power", "Product", "Scaled", "Stretched", "Sum"}
    classes = {name: k for name, k in vars(kernels).items() if isinstance(k, type)}
    concrete = {n for n, k in classes.items() if issubclass(k, Kernel) and not isabstract(k)}
    assert sorted(name for name, _ in rows) == sorted(concrete - algebra)
    named = {word: name for name, word in rows if word}
    assert named == {w: type(resolve(w, np.eye(2))).__name__ for w in named}
    assert set(named) == (set(NAMES) | set(FREE) | {"precomputed"}) - set(ALIASES)
