"""Small fits of every exported estimator, to fixed data, and the predictions that are stored.

Data are formulas, not draws, so that no generator of random numbers has a say in them.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

import mercer
import mercer.kernels
import mercer.losses
import mercer.manifold
import mercer.preprocessing
import mercer.reduced
import mercer.regularizers
import mercer.selection
import mercer.smoothing
import mercer_research.density
import mercer_research.estimators
import mercer_research.fusion
import mercer_research.linear
import mercer_research.manifold
import mercer_research.noise
import mercer_research.risk_bounds
import mercer_research.selection
import mercer_research.series
from exported import unlisted

Array = NDArray[Any]
STORED = Path(__file__).with_name("predictions.json")
N, POINTS = 48, 10


def spread(n: int, start: int, *columns: int) -> Array:
    """Return points of [-1, 1] without pattern: fractional parts of multiples of square roots."""
    steps = np.arange(start, start + n)[:, None]
    return 2.0 * np.mod(steps * np.sqrt(np.array(columns, dtype=float)), 1.0) - 1.0


X = spread(N, 1, 2, 3)
Z = spread(POINTS, 101, 2, 3)  # where predictions are stored
NOISE = spread(N, 1, 5, 7)
# Rounded, since the last digit of a sine depends on the machine.
Y = np.round(np.sin(2.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * NOISE[:, 0], 6)
YY = np.column_stack([Y, np.round(np.cos(2.0 * X[:, 1]) - X[:, 0] + 0.2 * NOISE[:, 1], 6)])
SCORE = X[:, 0] + 0.5 * X[:, 1] + 0.4 * NOISE[:, 0]
TWO = np.where(SCORE > 0.1, "yes", "no")
THREE = np.where(SCORE > 0.5, "high", np.where(SCORE > -0.4, "middle", "low"))
WEIGHTS = np.round(1.0 + 0.8 * spread(N, 1, 11)[:, 0], 6)
KINKED = dict.fromkeys(
    (
        *("absolute", "epsilon_insensitive", "hinge", "pinball"),
        *("SVR", "SVC", "QuantileSVR", "NuSVR", "NuSVC", "OneClassSVM", "QuantileBand"),
        *("ShapeConstrainedRegressor", "ShapeConstrainedClassifier"),
    ),
    1e-14,
) | {"absolute": 1e-13, "SupportVectorTube": 1e-12}
"""Least tolerances that fits among few functions reach, by loss or machine."""

OUTPUTS = (
    *("predict", "decision_function", "predict_proba", "score_samples", "transform", "cdf", "pdf"),
    *("predict_interval", "predict_quantiles", "predict_quantile", "predict_survival_function"),
    *("predict_parts", "predict_components", "predict_observation", "decision_interval"),
)
"""Methods whose answers at `Z` are stored, by the estimators that have them."""


@dataclass
class Case:
    """A fit: how the estimator is made, its data, and the methods whose answers are stored."""

    make: Callable[[], Any]
    X: Array = field(default_factory=lambda: X)
    y: Any = None
    at: Array = field(default_factory=lambda: Z)
    weights: Array | None = None
    outputs: tuple[str, ...] = OUTPUTS
    read: Callable[[Any], dict[str, Any]] | None = None  # instead of `outputs`

    def run(self) -> dict[str, Any]:
        """Fit, and return the parameters' names with every answer as a list."""
        machine = self.make()
        given = {} if self.weights is None else {"sample_weight": self.weights}
        if self.read is None:
            machine.fit(self.X, self.y, **given)
            answers = {
                name: getattr(machine, name)(self.at)
                for name in self.outputs
                if hasattr(machine, name)
            }
        else:
            answers = self.read(machine)
        result = {name: _as_list(value) for name, value in answers.items()}
        if hasattr(machine, "get_params"):
            result["get_params"] = sorted(machine.get_params())
        return result


def _as_list(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {str(key): _as_list(value) for key, value in answer.items()}
    if hasattr(answer, "toarray"):
        answer = answer.toarray()
    return np.asarray(answer).tolist()


def find(name: str) -> Any:
    """Return the object behind a public name such as ``selection.tune``, or that of a machine."""
    home = mercer
    if "." not in name and name not in mercer.__all__:
        home = mercer.estimators if name in mercer.estimators.__all__ else mercer.selection
    if name.startswith("mercer_research."):
        home, name = mercer_research, name.partition(".")[2]
    return reduce(getattr, name.split("."), home)


CASES: dict[str, dict[str, Case]] = {}
SHORT = ("predict", "decision_function", "score_samples")


def _maker(name: str, params: dict[str, Any]) -> Callable[[], Any]:
    """Return a constructor with a kernel and a tolerance that leave nothing to the path."""
    known = inspect.signature(find(name)).parameters
    usual = {"gamma": 0.5, "tol": 1e-12, "C": 2.0}
    given = {key: value for key, value in usual.items() if key in known} | params
    return lambda **more: find(name)(**(given | more))


def _few(name: str, loss: str = "", columns: int = 2) -> dict[str, Any]:
    """Return the settings of a fit among few functions.

    Newton steps end once the next would lower the objective by less than a share `tol`, the square
    of the error that is left; a loss with kinks is rounded, and stops at what rounding leaves.
    """
    given: dict[str, Any] = {"approximation": mercer.Nystrom(centres=X[::4, :columns])}
    if "tol" in inspect.signature(find(name)).parameters:
        given["tol"] = KINKED.get(loss or name, 1e-15)
    return given


def _variants(
    name: str, make: Callable[..., Any], y: Any, sample: dict[str, Any]
) -> dict[str, Case]:
    """Return a fit with weights and a fit among few functions, if there can be any."""
    variants = {}
    rest = {"y": y, "outputs": SHORT} | sample
    if "sample_weight" in inspect.signature(find(name).fit).parameters:
        variants["weights"] = Case(make, weights=WEIGHTS, **rest)
    if "approximation" in inspect.signature(find(name)).parameters:
        few = _few(name, columns=rest.get("X", X).shape[1])
        variants["nystrom"] = Case(lambda: make(**few), **rest)
    return variants


def extra(name: str, variant: str, y: Any, **params: Any) -> None:
    """Add a fit with other settings to those of an estimator."""
    sample = {key: params.pop(key) for key in ("X", "at", "outputs") if key in params}
    make = _maker(name, params)
    CASES[name][variant] = Case(make, y=y, **({"outputs": SHORT} | sample))


def regression(name: str, *, several: bool = False, sample: Any = None, **params: Any) -> None:
    """Add the fits of a regressor, to several outputs too if it takes them."""
    make, sample = _maker(name, params), sample or {}
    CASES[name] = {"plain": Case(make, **({"y": Y} | sample)), **_variants(name, make, Y, sample)}
    if several:
        CASES[name]["outputs"] = Case(make, y=YY, outputs=SHORT)


def classification(name: str, *, several: bool = True, **params: Any) -> None:
    """Add the fits of a classifier, to three classes too if it takes them."""
    make = _maker(name, params)
    CASES[name] = {"two": Case(make, y=TWO), **_variants(name, make, TWO, {})}
    if several:
        CASES[name]["three"] = Case(make, y=THREE)


def density(name: str, columns: int = 1, **params: Any) -> None:
    """Add the fits of an estimator that has no targets."""
    make, sample = _maker(name, params), {"X": X[:, :columns], "at": Z[:, :columns]}
    CASES[name] = {"plain": Case(make, **sample), **_variants(name, make, None, sample)}


LINE = {"X": X[:, :1], "at": Z[:, :1]}
FOLDS = KFold(4)  # so that the folds behind an integer may change
GAPS = {
    "X": np.where(spread(N, 1, 13, 17) > 0.6, np.nan, X),
    "at": np.where(spread(POINTS, 1, 13, 17) > 0.6, np.nan, Z),
}
CENSORED = np.column_stack([np.minimum(Y, 0.8), np.where(Y < 0.8, Y, np.inf)])
TREND = mercer.regularizers.Polynomial(2)
RISING = mercer.regularizers.Increasing(0)

# Machines for numbers.
OWN: dict[str, dict[str, Any]] = {
    "SVR": {"epsilon": 0.15},
    "HuberSVR": {"delta": 0.1},
    "QuantileSVR": {"quantile": 0.3},
    "NuSVR": {"nu": 0.4},
    "HeteroscedasticNuSVR": {"nu": 0.3},
    "HeteroscedasticSVR": {"upper": 0.2, "lower": 0.05},
    "TermSelector": {},
}
"""Settings with which the loss of a machine differs from squares on these data."""
for _name, _own in OWN.items():
    regression(_name, **_own)
    extra(_name, "trend", Y, null_space=TREND, **_own)
for _name in ("LSSVR", "KernelRegressor", "RobustLSSVR", "AdditiveRegressor"):
    regression(_name, several=True)
    extra(_name, "trend", Y, null_space=TREND)
for _name in ("mercer_research.estimators.RegularizationNetwork", "ThinPlateSpline"):
    regression(_name, several=True)
regression("mercer_research.estimators.PartiallyLinearRegressor")
for _name in ("mercer_research.estimators.NuSparseRegressor", "QuantileBand", "SupportVectorTube"):
    regression(_name)
for _name in ("SparseRegressor", "UniversalKriging"):
    regression(_name)
regression("ShapeConstrainedRegressor", constraints=[RISING])
regression(
    "mercer_research.estimators.GeneralizedLeastSquares",
    errors=mercer.regularizers.AutoRegressive(0.4),
)
regression("MultiOutputSVR", several=True, tol=1e-9)
extra("MultiOutputSVR", "trend", YY, null_space=TREND, tol=1e-9)
regression("MissingInputRegressor", sample=GAPS)
regression("mercer_research.estimators.HardTubeSVR", epsilon=0.3)
regression("SmoothingSpline", sample=LINE)
regression("SparseAdditiveRegressor", mu=1.0, refit=False)
extra("SparseAdditiveRegressor", "refit", Y, mu=1.0)
regression("CensoredRegressor")
regression("ConformalRegressor", estimator=mercer.LSSVR(gamma=0.5), cv=FOLDS)
CASES["RegimeSwitchingRegressor"] = {}
REGIMES = np.where(np.arange(N) < N // 2, Y, -Y)
extra("RegimeSwitchingRegressor", "plain", REGIMES, estimator=mercer.LSSVR(gamma=0.5), window=4)
for _name in ("LSSVRCV", "SVRCV"):
    regression(_name, budget=2)

LOSSES: dict[str, mercer.losses.Loss] = {
    "absolute": mercer.losses.Absolute(),
    "epsilon_insensitive": mercer.losses.EpsilonInsensitive(0.15),
    "expectile": mercer.losses.Expectile(0.8),
    "huber": mercer.losses.Huber(0.1),
    "log_cosh": mercer.losses.LogCosh(0.2),
    "pinball": mercer.losses.Pinball(0.3),
    "polynomial": mercer.losses.PolynomialLoss(3.0, 0.1),
    "piecewise_polynomial": mercer.losses.PiecewisePolynomial(2.5, 0.1),
    "squared_epsilon_insensitive": mercer.losses.SquaredEpsilonInsensitive(0.15),
}
for _loss, _of in LOSSES.items():
    extra("KernelRegressor", f"named {_loss}", Y, loss=_loss)
    extra("KernelRegressor", _loss, Y, loss=_of)
    extra("KernelRegressor", f"{_loss} nystrom", Y, loss=_of, **_few("KernelRegressor", _loss))
extra("KernelRegressor", "errors", Y, errors=mercer.regularizers.AutoRegressive(0.4))
extra("KernelRegressor", "covariance", YY, output_covariance=[[1.0, 0.3], [0.3, 0.5]])
extra("SVR", "standardized", Y, standardize=True)
extra("SVR", "auto", Y, C="auto", epsilon="auto")
extra("SVR", "matern", Y, kernel=mercer.kernels.Matern(0.7))
extra("LSSVR", "errors", Y, errors=mercer.regularizers.AutoRegressive(0.4))
extra("RobustLSSVR", "bisquare", Y, method="bisquare", c=1.0)
extra("HeteroscedasticSVR", "wide", Y, upper=0.3, lower=0.1, outputs=OUTPUTS)
TUBE = mercer.regularizers.Constant() + mercer.regularizers.Columns([0])
extra("HeteroscedasticNuSVR", "tube", Y, nu=0.3, tube=TUBE, X=X + 1.0, at=Z + 1.0, outputs=OUTPUTS)
extra("HeteroscedasticNuSVR", "two sides", Y, nu=0.3, symmetric=False, outputs=OUTPUTS)
extra("QuantileBand", "expectile", Y, kind="expectile", outputs=OUTPUTS)
extra("SupportVectorTube", "exceptions", Y, exceptions=6, outputs=OUTPUTS)
extra("SupportVectorTube", "nystrom", Y, exceptions=6, **_few("SupportVectorTube"))
extra("CensoredRegressor", "right", CENSORED, outputs=OUTPUTS)
extra("CensoredRegressor", "ranking", CENSORED, ranking=0.5)
extra("CensoredRegressor", "ipcw", CENSORED, weighting="ipcw")
extra("CensoredRegressor", "tube", CENSORED, loss="epsilon_insensitive")
extra("ShapeConstrainedRegressor", "free", Y)
extra("AdditiveRegressor", "pairs", Y, components="pairs", outputs=OUTPUTS)
for _strategy in ("embedded", "worst"):
    extra("MissingInputRegressor", _strategy, Y, strategy=_strategy, **GAPS)
extra("ConformalRegressor", "split", Y, method="split", random_state=0, outputs=OUTPUTS)
extra("UniversalKriging", "nugget", Y, nugget=0.1)

# Machines for classes.
for _name in ("SVC", "NuSVC", "LSSVC", "KernelClassifier", "KernelLogisticRegression"):
    classification(_name)
    extra(_name, "balanced", THREE, class_weight="balanced")
for _name in ("AdditiveClassifier", "LeaveOneOutSVC", "SparseClassifier"):
    classification(_name)
classification("AdaptiveMarginSVC", lam=0.5)
classification("mercer_research.estimators.NuSparseClassifier", nu=0.4)
classification("ShapeConstrainedClassifier", several=False)
classification("mercer_research.estimators.HardMarginSVC", kernel="rbf", gamma=10.0)
classification("SparseAdditiveClassifier", mu=1.0, refit=False)
extra("SparseAdditiveClassifier", "refit", TWO, mu=1.0)
for _name in ("LSSVCCV", "SVCCV"):
    classification(_name, budget=2)
classification("MissingInputClassifier")
for _strategy in ("expected", "embedded", "worst"):
    extra("MissingInputClassifier", _strategy, TWO, strategy=_strategy, **GAPS)
for _loss in ("hinge", "huber_hinge", "logistic", "power_hinge", "squared"):
    extra("KernelClassifier", _loss, THREE, loss=_loss)
for _loss in ("hinge", "huber_hinge", "logistic", "squared"):
    extra(
        "KernelClassifier", f"{_loss} nystrom", TWO, loss=_loss, **_few("KernelClassifier", _loss)
    )
extra("SVC", "trend", TWO, null_space=TREND)
extra("SVC", "one by one", THREE, decision_function_shape="ovo")
extra("LSSVC", "one by one", THREE, codes="one-vs-one", decoding="hamming")
extra("ShapeConstrainedClassifier", "rising", TWO, constraints=[RISING])

# Machines without targets.
density("OneClassSVM", columns=2)
for _name in ("ChiSquareDensity", "EmpiricalCDF", "GaussianDensity", "HistogramDensity"):
    density(f"mercer_research.density.{_name}")
density("mercer_research.density.ParzenWindow")
density("mercer_research.density.KernelCDF", C=1000.0)

# Choosing.
for _name in ("AdditiveRegularization", "FusedLSSVR", "SparseSubstrate"):
    regression(f"mercer_research.fusion.{_name}", several=True, cv=FOLDS)
regression("mercer_research.fusion.StableLSSVR", several=True, cv=FOLDS, alpha_s=0.2)
classification("mercer_research.fusion.SparseSubstrateClassifier", cv=FOLDS)
TIGHT = mercer.SVR(gamma=0.5, epsilon=0.15, tol=1e-12)
regression("mercer_research.selection.FixedComplexity", estimator=TIGHT, max_norm=1.0)
extra("mercer_research.selection.FixedComplexity", "risk", Y, estimator=TIGHT, max_risk=0.1)
classification(
    "mercer_research.selection.ThresholdSelector",
    estimator=mercer.SVC(gamma=0.5, tol=1e-12),
    efficiency=0.5,
)

# Relatives.
for _name in ("Bridge", "LeastSquaresAmongstAlternatives", "NadarayaWatson"):
    regression(f"mercer_research.linear.{_name}")
for _name in ("FusedRidge", "ValidatedLasso", "PlausibleLeastSquares"):
    regression(f"mercer_research.linear.{_name}", cv=FOLDS)
for _name in ("RBFNetwork", "ValidatedSelection"):
    regression(f"mercer_research.linear.{_name}")
regression("mercer_research.linear.LassoConstrained", tau=0.8)
regression("mercer_research.linear.NormRegression")
for _loss in ("huber", "squared", "maximum"):
    extra("mercer_research.linear.NormRegression", _loss, Y, loss=_loss)
classification(
    "mercer_research.risk_bounds.CertifiedSVC", several=False, Cs=(1.0, 10.0), widths=(1.0,), cv=2
)
classification("mercer_research.linear.KernelPerceptron", several=False)
classification("mercer_research.linear.LpMarginSVC", p=1.5)
classification("mercer_research.linear.OneNormSVC")
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)
classification("mercer_research.linear.MarginBoost", several=False, estimator=STUMP, n_estimators=5)

# Transformers.
CODES = np.column_stack([np.round(2 * X[:, 0]), X[:, 1]])
CATEGORIES = {"X": CODES, "at": CODES[:POINTS]}
CASES["preprocessing.Scaler"] = {"plain": Case(mercer.preprocessing.Scaler, y=Y)}
extra("preprocessing.Scaler", "robust", Y, scale="robust", outputs=("transform",))
CASES["manifold.KernelPCA"] = {}
SCORES = {"n_components": 3, "outputs": ("transform",)}
extra("manifold.KernelPCA", "plain", None, **SCORES)
extra("manifold.KernelPCA", "thin plate", None, kernel="thin_plate", **SCORES)
CASES["preprocessing.Imputer"] = {"plain": Case(mercer.preprocessing.Imputer, **GAPS)}
extra("preprocessing.Imputer", "median", None, fill="median", outputs=("transform",), **GAPS)
regression("AutoRegressor", several=True, members=["gaussian"])
classification("AutoClassifier", members=["squares-gaussian"])
CASES["preprocessing.RankNormalizer"] = {"plain": Case(mercer.preprocessing.RankNormalizer, **GAPS)}
DAYS = np.datetime64("2026-01-01") + np.arange(len(X))[:, None] * np.timedelta64(5, "D")
CASES["preprocessing.DateEncoder"] = {}
extra(
    *("preprocessing.DateEncoder", "plain", None),
    **{"outputs": ("transform",), "X": DAYS, "at": DAYS[:POINTS]},
)
CASES["preprocessing.TableEncoder"] = {}
extra("preprocessing.TableEncoder", "plain", None, outputs=("transform",), **GAPS)
CASES["preprocessing.Encoder"] = {}
for _kind in ("onehot", "ordinal", "target"):
    extra(
        "preprocessing.Encoder",
        _kind,
        Y,
        kind=_kind,
        columns=[0],
        outputs=("transform",),
        **CATEGORIES,
    )


# Features and maps without labels.
density("mercer_research.manifold.SparseKernelFeatures", columns=2)
density(
    "mercer_research.manifold.VectorQuantizer", columns=2, n_clusters=3, init=X[:3, :2], tol=0.0
)
density("mercer_research.manifold.GenerativeTopographicMap", columns=2, latent=1, mu=1.0, tol=1e-2)
density("manifold.PrincipalCurve", columns=2, n_nodes=5, lam=1.0, max_iter=2, tol=1.0, n_init=1)
density("mercer_research.manifold.PrincipalPlane", columns=2, n_components=1)
extra(
    "mercer_research.manifold.PrincipalPlane",
    "huber",
    None,
    n_components=1,
    cost="huber",
    outputs=("transform",),
)
density("mercer_research.manifold.KPlanes", columns=2, n_init=1, random_state=0)
density("manifold.PrincipalManifold", columns=2, latent=1, lam=0.1, max_iter=2, tol=1.0)
SMALL_MAP = mercer.manifold.PrincipalManifold(1, lam=0.1, max_iter=2, tol=1.0)
density(
    "mercer_research.manifold.PrincipalManifoldCV", columns=2, estimator=SMALL_MAP, lams=[1.0, 0.1]
)
density(
    "mercer_research.manifold.KernelProjectionPursuit",
    columns=2,
    contrast="variance",
    n_init=1,
    random_state=0,
)


# Values with a `fit` of their own.
SERIES = np.round(np.sin(0.7 * np.arange(N)) + 0.3 * NOISE[:, 0], 6)


def _forecast(machine: Any) -> dict[str, Any]:
    return {"forecast": machine.fit(SERIES).forecast(POINTS)}


def _autoregression(cls: Any) -> dict[str, Any]:
    model = cls.fit(SERIES, 3, intercept=True)
    return {"coef": model.coef, "noise": model.noise_variance, "predict": model.predict(SERIES)}


def _differogram(cls: Any) -> dict[str, Any]:
    fit = cls.of(X, Y).fit()
    return {"coef": fit.coef, "std": fit.std}


def _factored(cls: Any) -> dict[str, Any]:
    K = mercer.kernels.Gaussian(1.0)(X)
    return {"a": cls(K, np.ones((N, 1)), WEIGHTS, 2.0).fit(Y).a}


def value(name: str, read: Callable[[Any], dict[str, Any]]) -> None:
    """Add a class whose `fit` is not scikit-learn's."""
    CASES[name] = {"plain": Case(lambda: find(name), read=read)}


def tuned(variant: str, machine: Any, y: Any) -> None:
    """Add a search for the best settings of a machine."""

    def read(_: Any) -> dict[str, Any]:
        best = mercer.tune(machine, X, y, budget=2).best_estimator_
        return {name: getattr(best, name)(Z) for name in SHORT if hasattr(best, name)}

    CASES.setdefault("tune", {})[variant] = Case(lambda: None, read=read)


tuned("svr", mercer.SVR(tol=1e-12), Y)
tuned("lssvr", mercer.LSSVR(), Y)
tuned("svc", mercer.SVC(tol=1e-7), THREE)
tuned("lssvc", mercer.LSSVC(), THREE)
value("mercer_research.series.autoregression.AutoRegression", _autoregression)
value("mercer_research.series.autoregression.SpatialAutoRegression", _autoregression)
value("mercer_research.noise.DifferogramCloud", _differogram)
value("smoothing.factored.Factored", _factored)
for _strategy in ("recursive", "direct"):
    _maker_of = _maker("Forecaster", {"estimator": mercer.LSSVR(gamma=0.5), "lags": 4})
    CASES.setdefault("Forecaster", {})[_strategy] = Case(
        lambda make=_maker_of, how=_strategy: make(
            strategy=how, steps=POINTS if how == "direct" else 1
        ),
        read=_forecast,
    )

# Machines without settings of their own here.
for _name, _new in unlisted({name.split(".")[-1] for name in CASES}).items():
    (classification if is_classifier(_new) else regression)(_name)


TOLERANCE = 1e-10
LOOSER = {
    "MultiOutputSVR": (
        1e-4,
        "a cone program stops at a gap of 1e-9, of which predictions are the root",
    ),
    "SVRCV": (1e-2, "has no tol; its machine stops at tol=1e-3, ten of which are allowed"),
    "SVCCV": (1e-2, "has no tol; its machine stops at tol=1e-3, ten of which are allowed"),
    "SparseAdditiveClassifier refit": (
        1e-2,
        "the refitted machine stops at tol=1e-3, whatever tol is",
    ),
    "LSSVRCV": (1e-7, "settings follow a slope of the criterion, as in tune"),
    "LSSVCCV": (1e-7, "settings follow a slope of the criterion, as in tune"),
    "AutoRegressor": (1e-5, "scales end a search where the evidence hardly changes"),
    "AutoClassifier": (1e-5, "scales end a search where the evidence hardly changes"),
    "SVR auto": (1e-9, "C and epsilon are read from a fit to the sample before this fit"),
    "mercer_research.manifold.PrincipalPlane huber": (
        1e-6,
        "a plane has half the digits of its cost",
    ),
    "mercer_research.manifold.KernelProjectionPursuit": (
        1e-6,
        "a direction has half the digits of its contrast",
    ),
    "manifold.PrincipalManifold": (1e-6, "coordinates have half the digits of their cost"),
    "mercer_research.manifold.PrincipalManifoldCV": (
        1e-6,
        "coordinates have half the digits of their cost",
    ),
    "mercer_research.density.KernelCDF": (
        1e-9,
        "scores are logarithms of small slopes of a program's answer",
    ),
    "tune svc": (1e-6, "its machine stops at tol=1e-7, ten of which are allowed"),
    "tune": (1e-7, "settings follow a slope of the criterion, which has half the digits of a fit"),
}
"""Tolerances of answers that are not determined to ten digits, by estimator or by fit."""


def tolerance(name: str, variant: str) -> float:
    """Return how much of its largest value an answer may change by."""
    own = LOOSER.get(f"{name} {variant}") or LOOSER.get(name)
    return own[0] if own else TOLERANCE


def differences(stored: Any, found: Any, tol: float, path: str = "") -> list[str]:
    """Return a sentence for every answer that is gone, new or changed."""
    if isinstance(stored, dict) and isinstance(found, dict):
        lines = [f"{path}{key} is gone" for key in stored.keys() - found.keys()]
        lines += [f"{path}{key} is new" for key in found.keys() - stored.keys()]
        for key in stored.keys() & found.keys():
            lines += differences(stored[key], found[key], tol, f"{path}{key} ")
        return sorted(lines)
    old, new = np.asarray(stored), np.asarray(found)
    if old.shape != new.shape:
        return [f"{path}had the shape {old.shape} and has {new.shape}"]
    if old.dtype.kind != "f" or new.dtype.kind != "f":
        return [] if np.array_equal(old, new) else [f"{path}was {stored} and is {found}"]
    finite = np.isfinite(old)
    if not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return [f"{path}is infinite or missing elsewhere"]
    size = np.max(np.abs(old[finite]), initial=0.0)
    error = np.max(np.abs(old[finite] - new[finite]), initial=0.0)
    # Written so that a nan among the new values is a difference.
    return [] if error <= tol * size else [f"{path}changed by {error:.1e} where it is {size:.1e}"]


def read() -> dict[str, Any]:
    """Return the stored answers by the name of the fit, ``SVR weights``."""
    return dict(json.loads(STORED.read_text()))


def write() -> None:
    """Store the answers of the library as it is, a fit a line; those that agree are kept."""
    stored, rows = read(), []
    for name, cases in sorted(CASES.items()):
        for variant, case in sorted(cases.items()):
            key, answer = f"{name} {variant}", case.run()
            if key in stored and not differences(stored[key], answer, tolerance(name, variant)):
                answer = stored[key]
            rows.append(f"{json.dumps(key)}:{json.dumps(answer, separators=(',', ':'))}")
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n")
