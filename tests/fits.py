"""A small fit of every exported estimator, to fixed data that are formulas instead of draws."""

import inspect
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

import mercer
import mercer.manifold
import mercer.preprocessing
import mercer.regularizers
import mercer.selection
import mercer_research.density
import mercer_research.estimators
import mercer_research.fusion
import mercer_research.linear
import mercer_research.manifold
import mercer_research.risk_bounds
import mercer_research.selection
from exported import unlisted

Array = NDArray[Any]
N, POINTS = 48, 10


def spread(n: int, start: int, *columns: int) -> Array:
    """Return points of [-1, 1] without pattern: fractional parts of multiples of square roots."""
    steps = np.arange(start, start + n)[:, None]
    return 2.0 * np.mod(steps * np.sqrt(np.array(columns, dtype=float)), 1.0) - 1.0


X = spread(N, 1, 2, 3)
Z = spread(POINTS, 101, 2, 3)  # where the fits are asked
NOISE = spread(N, 1, 5, 7)
# Rounded, since the last digit of a sine depends on the machine.
Y = np.round(np.sin(2.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * NOISE[:, 0], 6)
YY = np.column_stack([Y, np.round(np.cos(2.0 * X[:, 1]) - X[:, 0] + 0.2 * NOISE[:, 1], 6)])
SCORE = X[:, 0] + 0.5 * X[:, 1] + 0.4 * NOISE[:, 0]
TWO = np.where(SCORE > 0.1, "yes", "no")
THREE = np.where(SCORE > 0.5, "high", np.where(SCORE > -0.4, "middle", "low"))
SERIES = np.round(np.sin(0.7 * np.arange(N)) + 0.3 * NOISE[:, 0], 6)

OUTPUTS = (
    *("predict", "decision_function", "predict_proba", "score_samples", "transform", "cdf", "pdf"),
    *("predict_interval", "predict_quantiles", "predict_quantile", "predict_survival_function"),
    *("predict_parts", "predict_components", "predict_observation", "decision_interval"),
)
"""Methods that are asked at the points of a fit, by the estimators that have them."""
SHORT = ("predict", "decision_function", "score_samples")


class Fit(NamedTuple):
    """How an estimator is made, its data, and the methods that are asked."""

    make: Callable[[], Any]
    X: Array
    y: Any
    at: Array
    outputs: tuple[str, ...]


FITS: dict[str, Fit] = {}
"""A fit of each estimator, by its public name without ``mercer.`` and the room of machines."""


def find(name: str) -> Any:
    """Return the object behind a public name such as ``selection.tune``, or that of a machine."""
    home = mercer
    if "." not in name and name not in mercer.__all__:
        home = mercer.estimators if name in mercer.estimators.__all__ else mercer.selection
    if name.startswith("mercer_research."):
        home, name = mercer_research, name.partition(".")[2]
    return reduce(getattr, name.split("."), home)


def add(
    name: str, y: Any = None, *, X: Array = X, at: Array = Z, outputs: Any = OUTPUTS, **params: Any
) -> None:
    """Add a fit, with a kernel and a tolerance that leave nothing to the path of a solver."""
    known = inspect.signature(find(name)).parameters
    usual = {"gamma": 0.5, "tol": 1e-12, "C": 2.0}
    given = {key: value for key, value in usual.items() if key in known} | params
    FITS[name] = Fit(lambda: find(name)(**given), X, y, at, outputs)


FOLDS = KFold(4)  # so that the folds behind an integer may change
HOLES = {
    "X": np.where(spread(N, 1, 13, 17) > 0.6, np.nan, X),
    "at": np.where(spread(POINTS, 1, 13, 17) > 0.6, np.nan, Z),
}
LINE = {"X": X[:, :1], "at": Z[:, :1]}
TIGHT = mercer.SVR(gamma=0.5, epsilon=0.15, tol=1e-12)

# Machines for numbers.
add("SVR", Y, epsilon=0.15)
add("HuberSVR", Y, delta=0.1)
add("QuantileSVR", Y, quantile=0.3)
add("NuSVR", Y, nu=0.4)
add("HeteroscedasticNuSVR", Y, nu=0.3)
add("HeteroscedasticSVR", Y, upper=0.2, lower=0.05)
for _name in ("LSSVR", "KernelRegressor", "RobustLSSVR", "AdditiveRegressor"):
    add(_name, Y)
for _name in ("ThinPlateSpline", "QuantileBand", "SupportVectorTube", "SparseRegressor"):
    add(_name, Y)
for _name in ("RegularizationNetwork", "PartiallyLinearRegressor", "NuSparseRegressor"):
    add(f"mercer_research.estimators.{_name}", Y)
for _name in ("UniversalKriging", "CensoredRegressor"):
    add(_name, Y)
add("ShapeConstrainedRegressor", Y, constraints=[mercer.regularizers.Increasing(0)])
add(
    "mercer_research.estimators.GeneralizedLeastSquares",
    Y,
    errors=mercer.regularizers.AutoRegressive(0.4),
)
add("mercer_research.estimators.TermSelector", Y)
add("mercer_research.estimators.MultiOutputSVR", Y, tol=1e-9)
add("MissingInputRegressor", Y, **HOLES)
add("mercer_research.estimators.HardTubeSVR", Y, epsilon=0.3)
add("SmoothingSpline", Y, **LINE)
add("SparseAdditiveRegressor", Y, mu=1.0, refit=False)
add("ConformalRegressor", Y, estimator=mercer.LSSVR(gamma=0.5), cv=FOLDS)
add(
    "mercer_research.estimators.RegimeSwitchingRegressor",
    np.where(np.arange(N) < N // 2, Y, -Y),
    outputs=SHORT,
    estimator=mercer.LSSVR(gamma=0.5),
    window=4,
)
for _name in ("LSSVRCV", "SVRCV"):
    add(_name, Y, budget=2)

# Machines for classes.
for _name in ("SVC", "NuSVC", "LSSVC", "KernelClassifier", "KernelLogisticRegression"):
    add(_name, TWO)
for _name in ("AdditiveClassifier", "SparseClassifier", "MissingInputClassifier"):
    add(_name, TWO)
add("mercer_research.estimators.LeaveOneOutSVC", TWO)
add("mercer_research.estimators.AdaptiveMarginSVC", TWO, lam=0.5)
add("mercer_research.estimators.NuSparseClassifier", TWO, nu=0.4)
add("ShapeConstrainedClassifier", TWO)
add("mercer_research.estimators.HardMarginSVC", TWO, kernel="rbf", gamma=10.0)
add("SparseAdditiveClassifier", TWO, mu=1.0, refit=False)
for _name in ("LSSVCCV", "SVCCV"):
    add(_name, TWO, budget=2)

# Machines without targets.
add("OneClassSVM")
for _name in ("ChiSquareDensity", "EmpiricalCDF", "GaussianDensity", "HistogramDensity"):
    add(f"mercer_research.density.{_name}", **LINE)
add("mercer_research.density.ParzenWindow", **LINE)
add("mercer_research.density.KernelCDF", C=1000.0, **LINE)

# Choosing.
for _name in ("AdditiveRegularization", "FusedLSSVR", "SparseSubstrate"):
    add(f"mercer_research.fusion.{_name}", Y, cv=FOLDS)
add("mercer_research.fusion.StableLSSVR", Y, cv=FOLDS, alpha_s=0.2)
add("mercer_research.fusion.SparseSubstrateClassifier", TWO, cv=FOLDS)
add("mercer_research.selection.FixedComplexity", Y, estimator=TIGHT, max_norm=1.0)
add(
    "mercer_research.selection.ThresholdSelector",
    TWO,
    estimator=mercer.SVC(gamma=0.5, tol=1e-12),
    efficiency=0.5,
)

# Relatives.
for _name in ("Bridge", "LeastSquaresAmongstAlternatives", "NadarayaWatson", "RBFNetwork"):
    add(f"mercer_research.linear.{_name}", Y)
for _name in ("ValidatedSelection", "NormRegression"):
    add(f"mercer_research.linear.{_name}", Y)
for _name in ("FusedRidge", "ValidatedLasso", "PlausibleLeastSquares"):
    add(f"mercer_research.linear.{_name}", Y, cv=FOLDS)
add("mercer_research.linear.LassoConstrained", Y, tau=0.8)
add("mercer_research.risk_bounds.CertifiedSVC", TWO, Cs=(1.0, 10.0), widths=(1.0,), cv=2)
add("mercer_research.linear.KernelPerceptron", TWO)
add("mercer_research.linear.LpMarginSVC", TWO, p=1.5)
add("mercer_research.linear.OneNormSVC", TWO)
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)
add("mercer_research.linear.MarginBoost", TWO, estimator=STUMP, n_estimators=5)

# Transformers and tables.
CODES = np.column_stack([np.round(2 * X[:, 0]), X[:, 1]])
DAYS = np.datetime64("2026-01-01") + np.arange(len(X))[:, None] * np.timedelta64(5, "D")
add("preprocessing.Scaler", Y)
add("manifold.KernelPCA", n_components=3, outputs=("transform",))
for _name in ("Imputer", "RankNormalizer", "TableEncoder"):
    add(f"preprocessing.{_name}", **HOLES)
add("preprocessing.DateEncoder", X=DAYS, at=DAYS[:POINTS], outputs=("transform",))
add("preprocessing.Encoder", Y, kind="onehot", columns=[0], X=CODES, at=CODES[:POINTS])
add("AutoRegressor", Y, members=["gaussian"])
add("AutoClassifier", TWO, members=["squares-gaussian"])

# Features and maps without labels.
SMALL_MAP = mercer.manifold.PrincipalManifold(1, lam=0.1, max_iter=2, tol=1.0)
add("mercer_research.manifold.SparseKernelFeatures")
add("mercer_research.manifold.VectorQuantizer", n_clusters=3, init=X[:3, :2], tol=0.0)
add("mercer_research.manifold.GenerativeTopographicMap", latent=1, mu=1.0, tol=1e-2)
add("manifold.PrincipalCurve", n_nodes=5, lam=1.0, max_iter=2, tol=1.0, n_init=1)
add("mercer_research.manifold.PrincipalPlane", n_components=1)
add("mercer_research.manifold.KPlanes", n_init=1, random_state=0)
add("manifold.PrincipalManifold", latent=1, lam=0.1, max_iter=2, tol=1.0)
add("mercer_research.manifold.PrincipalManifoldCV", estimator=SMALL_MAP, lams=[1.0, 0.1])
add(
    "mercer_research.manifold.KernelProjectionPursuit",
    contrast="variance",
    n_init=1,
    random_state=0,
)

add("Forecaster", SERIES, estimator=mercer.LSSVR(gamma=0.5), lags=4)

# Machines without settings of their own here.
for _name, _new in unlisted({name.split(".")[-1] for name in FITS}).items():
    add(_name, TWO if is_classifier(_new) else Y)
