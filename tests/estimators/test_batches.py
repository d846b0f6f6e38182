"""What a machine says of a row is the same alone, in a batch of any size, and in any order.

The largest difference allowed is 1e-12 of the largest value: BLAS may add in another order when it
is given another number of rows. Machines here are well conditioned, so that the largest value is
about as large as the terms that it is made of.
"""

import inspect

import numpy as np
import pytest
import scipy
from scipy import sparse
from sklearn.base import is_classifier

import mercer
import mercer_research
from exported import unlisted
from mercer import preprocessing, selection
from mercer.kernels import BSpline, Gaussian, Matern, Wendland, products
from mercer.machines import evaluating
from mercer.machines.ls_report import UnavailableError
from mercer.regularizers import Bounded, Increasing
from mercer_research import density, fusion, linear, series
from mercer_research import selection as held_out
from mercer_research.density import KernelCDF

RELATIVE = 1e-12

rng = np.random.default_rng(14)
X = rng.uniform(-1.0, 1.0, (60, 3))
SIGNAL = X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.1 * rng.normal(size=60)
MANY = rng.uniform(-1.2, 1.2, (2000, 3))

SIDES = np.where(SIGNAL > 0.0, "up", "down")
THREE = np.digitize(SIGNAL, [-0.4, 0.4])
ENDS = np.column_stack([SIGNAL, np.where(np.arange(60) % 4, SIGNAL, np.inf)])

REGRESSION = [
    *(
        mercer.LSSVR(),
        mercer.SVR(),
        mercer.LinearSVR(),
        mercer.NuSVR(),
        mercer.estimators.HuberSVR(),
        mercer.QuantileSVR(),
    ),
    *(
        mercer.KernelRegressor(),
        mercer.estimators.RobustLSSVR(c=1.0),
        mercer_research.estimators.RegularizationNetwork(),
    ),
    *(
        mercer.selection.LSSVRCV(budget=2),
        mercer.selection.SVRCV(budget=2),
        mercer.AdditiveRegressor(),
    ),
    *(
        mercer_research.estimators.GeneralizedLeastSquares(),
        mercer.UniversalKriging(),
        mercer_research.estimators.HardTubeSVR(1.0),
    ),
    *(
        mercer.ConformalRegressor(),
        mercer.estimators.HeteroscedasticSVR(),
        mercer.estimators.HeteroscedasticNuSVR(),
    ),
    *(
        mercer.MissingInputRegressor(),
        mercer_research.estimators.PartiallyLinearRegressor(),
        mercer.estimators.SparseRegressor(),
    ),
    *(
        mercer_research.estimators.NuSparseRegressor(),
        mercer.QuantileBand(),
        mercer.estimators.SupportVectorTube(),
    ),
    *(
        mercer.ShapeConstrainedRegressor([Increasing(0)]),
        mercer.estimators.ThinPlateSpline(),
        mercer_research.estimators.TermSelector(),
    ),
    *(
        mercer.estimators.SparseAdditiveRegressor(mu=1.0),
        mercer_research.estimators.RegimeSwitchingRegressor(),
    ),
    *(linear.Bridge(), linear.FusedRidge(cv=3), linear.LassoConstrained(1.0)),
    *(linear.LeastSquaresAmongstAlternatives(), linear.NadarayaWatson(), linear.NormRegression()),
    *(linear.PlausibleLeastSquares(0.05), linear.RBFNetwork(), linear.ValidatedLasso(cv=3)),
    linear.ValidatedSelection("local"),
    *(fusion.AdditiveRegularization(), fusion.FusedLSSVR(), fusion.SparseSubstrate()),
    fusion.StableLSSVR(),
    mercer.LSSVR(approximation=mercer.Nystrom(20)),
    mercer.LSSVR(approximation=mercer.RandomFeatures(50)),
    *(mercer.SVR(kernel=k) for k in ("linear", "poly", "sigmoid")),
    *(mercer.LSSVR(kernel=k) for k in (Matern(1.0, 0.5), Wendland(0.4), BSpline(0.5))),
    mercer.LSSVR(kernel=Gaussian(1.0) + Matern(2.0, 1.5).on([0])),
]
BINARY = [
    mercer.KernelLogisticRegression(),
    *(
        mercer_research.estimators.LeaveOneOutSVC(),
        mercer_research.estimators.AdaptiveMarginSVC(),
        mercer.estimators.MissingInputClassifier(),
    ),
    *(
        mercer_research.estimators.NuSparseClassifier(),
        mercer.estimators.SparseClassifier(),
        mercer.ShapeConstrainedClassifier(),
    ),
    mercer.estimators.SparseAdditiveClassifier(mu=1.0, C=1.0),
    *(linear.KernelPerceptron(), linear.LpMarginSVC(1.0), linear.OneNormSVC()),
    linear.MarginBoost(n_estimators=5),
    fusion.SparseSubstrateClassifier(),
    held_out.ThresholdSelector(mercer.SVC(), efficiency=0.5),
    held_out.FixedComplexity(mercer.SVC(), max_norm=2.0),
]
THREE_CLASSES = [
    *(mercer.SVC(), mercer.NuSVC(nu=0.3), mercer.LSSVC(), mercer.KernelClassifier()),
    mercer.LinearSVC(),
    *(mercer.SVC(decision_function_shape="ovo"), mercer.SVC(break_ties=True)),
    *(
        mercer.selection.LSSVCCV(budget=2),
        mercer.selection.SVCCV(budget=2),
        mercer.AdditiveClassifier(),
    ),
    mercer.SVC(approximation=mercer.Nystrom(20)),
    mercer.AutoClassifier(members=["squares-gaussian"]),
]
WITHOUT_TARGETS = [
    *(mercer.OneClassSVM(), density.ParzenWindow()),
    *(preprocessing.Encoder(), preprocessing.Imputer(), preprocessing.Scaler()),
    *(preprocessing.RankNormalizer(), preprocessing.TableEncoder(), preprocessing.DateEncoder()),
]
ON_A_LINE = [
    *(density.EmpiricalCDF(), density.HistogramDensity(), density.ChiSquareDensity()),
    KernelCDF(gamma=0.5, C=1.0),
]

CASES = [
    *((machine, X, SIGNAL, MANY) for machine in REGRESSION),
    (mercer.AutoRegressor(members=["gaussian"]), X, SIGNAL, MANY),
    *((machine, X, SIDES, MANY) for machine in BINARY),
    *((machine, X, THREE, MANY) for machine in THREE_CLASSES),
    *((machine, X, None, MANY) for machine in WITHOUT_TARGETS),
    *((machine, np.abs(X[:, :1]), None, np.abs(MANY[:, :1])) for machine in ON_A_LINE),
    # Its distribution function is an integral, about a millisecond a row.
    (density.GaussianDensity(), X, None, MANY[:100]),
    (mercer.SmoothingSpline(), X[:, :1], SIGNAL, MANY[:, :1]),
    (mercer.CensoredRegressor(), X, ENDS, MANY),
    (mercer_research.estimators.HardMarginSVC(), X, X[:, 0] > 0.0, MANY),
    (mercer_research.estimators.MultiOutputSVR(), X, np.column_stack([SIGNAL, X[:, 2]]), MANY),
]
# Machines without settings of their own here.
for new in unlisted({type(case[0]).__name__ for case in CASES}).values():
    CASES.append((new, X, THREE if is_classifier(new) else SIGNAL, MANY))
# Before 1.16, SciPy integrates at points that nobody can set.
OLD = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 16)
RANDOM = {(density.GaussianDensity, "cdf")} if OLD else set()
METHODS = (
    *("predict", "decision_function", "predict_proba", "predict_log_proba", "score_samples"),
    *("predict_interval", "predict_quantiles", "predict_observation", "predict_parts"),
    *("predict_components", "predict_survival_function", "predict_quantile"),
    *("decision_interval", "transform", "pdf", "cdf"),
)
# Their `predict` takes a series, not rows.
SERIES = {"AutoRegression", "SpatialAutoRegression"}


def prepared(case):
    machine, rows, targets, _ = case
    return machine.fit(rows) if targets is None else machine.fit(rows, targets)


def parts(answer):
    """Return what a method says as arrays over rows."""
    answers = answer.values() if isinstance(answer, dict) else answer
    answers = answers if isinstance(answer, dict | tuple | list) else [answer]
    return [np.asarray(a.toarray() if hasattr(a, "toarray") else a) for a in answers]


def assert_same(found, whole, rows):
    for part, every in zip(found, whole, strict=True):
        if every.dtype.kind in "fc":
            size = np.abs(every[np.isfinite(every)]).max()
            np.testing.assert_allclose(part, every[rows], rtol=0, atol=RELATIVE * size)
        else:
            np.testing.assert_array_equal(part, every[rows])


def assert_batches_agree(function, new):
    whole, n = parts(function(new)), new.shape[0]
    assert all(part.shape[0] == n for part in whole)
    order = np.random.default_rng(0).permutation(n)
    batches = [slice(start, start + 50) for start in (0, n // 3, n - 50)]
    alone = [slice(i, i + 1) for i in (0, 1, n // 2, n - 1)]
    for rows in (*batches, *alone, slice(n // 8, 7 * n // 8), order):
        assert_same(parts(function(new[rows])), whole, rows)


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Let batches count as large at 2,000 rows: those who differ then must not be seen to."""
    monkeypatch.setattr(products, "WORTH", 2**15)
    monkeypatch.setattr(products, "BLOCK_BYTES", 2**18)
    monkeypatch.setattr(evaluating, "PREDICTED_ROWS", 700)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case[0]).__name__)
def test_a_row_has_the_same_answers_in_every_batch(case):
    machine, new = prepared(case), case[-1]
    called = 0
    for name in METHODS:
        if not hasattr(machine, name) or (type(machine), name) in RANDOM:
            continue
        try:
            getattr(machine, name)(new[:2])
        except UnavailableError:
            continue
        assert_batches_agree(getattr(machine, name), new)
        called += 1
    assert called


@pytest.mark.parametrize("machine", [mercer.LSSVR(), mercer.UniversalKriging()])
def test_standard_deviations_do_not_depend_on_the_batch(machine):
    machine.fit(X, SIGNAL)
    assert_batches_agree(lambda new: machine.predict(new, return_std=True), MANY)


def test_every_machine_is_asked():
    asked = {type(case[0]).__name__ for case in CASES} | SERIES | {"Validation"}
    for room in (mercer, linear, density, preprocessing, selection, held_out, series):
        for name in room.__all__:
            found = getattr(room, name)
            if inspect.isclass(found) and any(hasattr(found, method) for method in METHODS):
                assert name in asked


ROWS = sparse.random_array((120, 40), density=0.1, format="csr", rng=np.random.default_rng(3))
NEW = sparse.random_array((2000, 40), density=0.1, format="csr", rng=np.random.default_rng(4))
SUMS = np.asarray(ROWS.sum(axis=1)).ravel()


@pytest.mark.parametrize("dense_bytes", [2.0**28, 0.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Matern(1.0, 0.5)])
def test_sparse_rows(kernel, dense_bytes, monkeypatch):
    monkeypatch.setattr(products, "DENSE_BYTES", dense_bytes)
    machine = mercer.SVR(kernel=kernel).fit(ROWS, SUMS)
    assert_batches_agree(machine.predict, NEW)
    machine = mercer.SVC(kernel=kernel).fit(ROWS, np.digitize(SUMS, [1.5, 2.5]))
    assert_batches_agree(machine.predict, NEW)
    assert_batches_agree(machine.decision_function, NEW)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, 0.5), Matern(1.0, 2.5), Wendland()])
@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_rows_far_away_do_not_change_the_others(kernel, spread):
    """Rounding errors of distances grow with the norms: whose, is decided pair by pair."""
    rng = np.random.default_rng(5)
    Z = 1e5 + spread * rng.normal(size=(300, 2))
    new = Z[rng.integers(300, size=2000)] + 0.5 * rng.normal(size=(2000, 2))
    new[::40] += 1e6 * rng.normal(size=(50, 2))
    a = rng.normal(size=(300, 1))

    def f(x):
        return products.products(kernel, Z, x, a, [300])[0, :, 0]

    whole, size = f(new), np.abs(a).sum()
    for rows in (slice(1, 40), slice(0, 1), slice(1, 2), slice(None, None, -1)):
        np.testing.assert_allclose(f(new[rows]), whole[rows], rtol=0, atol=RELATIVE * size)
    # The same from differences, with nothing that cancels.
    direct = np.array([kernel.paired(np.repeat(x[None], 300, 0), Z) @ a[:, 0] for x in new[:100]])
    np.testing.assert_allclose(whole[:100], direct, rtol=0, atol=RELATIVE * size)


def test_a_proved_shape_holds_on_a_fine_grid_in_any_batching():
    """The proof is of the function; its values are computed to 1e-12 of the sum of its terms.

    A step of this grid rises by more than that, so that none of the 200,000 may fall.
    """
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 4.0, (90, 1))
    y = 1.0 / (1.0 + np.exp(4.0 - 2.0 * x[:, 0])) + 0.1 * rng.normal(size=90)
    machine = mercer.ShapeConstrainedRegressor(
        [Increasing(0), Bounded(0, 1)], prove=True, gamma=5.0, C=100.0
    ).fit(x, y)
    assert machine.shape_certificate_.holds
    grid = np.linspace(x.min(), x.max(), 200_001)[:, None]
    whole = machine.predict(grid)
    rounding = RELATIVE * np.abs(machine.dual_coef_).sum()
    assert np.diff(whole).min() > 2.0 * rounding
    assert whole.min() >= -rounding
    assert whole.max() <= 1.0 + rounding
    for size, rows in ((50, 5_000), (1_000, 200_001)):
        batches = [machine.predict(grid[k : k + size]) for k in range(0, rows, size)]
        steps = np.diff(np.concatenate(batches))
        assert np.all(steps > 0.0)
        np.testing.assert_allclose(np.concatenate(batches)[:rows], whole[:rows], atol=rounding)


@pytest.mark.parametrize("machine", [mercer.SVC(), mercer.LinearSVC(), mercer.LSSVC()], ids=repr)
def test_memory_that_is_not_aligned(machine):
    """Arrays that arrive in a message begin at any byte."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.sign(X[:, 0])
    shifted = np.frombuffer(b"?" + X.tobytes(), dtype=float, offset=1).reshape(X.shape)
    assert not shifted.flags.aligned
    expected = machine.fit(X, y).decision_function(X)
    # NumPy multiplies such arrays in another order.
    values = machine.fit(shifted, y).decision_function(shifted)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)
