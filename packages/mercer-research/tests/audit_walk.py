"""Every estimator of scikit-learn and of this library, fitted to wrong rows and audited."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

from exported import estimators
from hostile.machines import SETTINGS as OURS
from mercer_research.risk_bounds import audit

N, TRAIN = 60, 36
SCENARIOS = ("all rows", "held-out rows", "training rows")

CLASSIFIER, REGRESSOR = LogisticRegression(), Ridge()

# Settings that an estimator of scikit-learn cannot do without, or that keep its fit short.
GIVEN: dict[str, dict[str, Any]] = {
    "ClassifierChain": {"estimator": CLASSIFIER},
    "ColumnTransformer": {"transformers": [("scale", StandardScaler(), [0, 1, 2])]},
    "FeatureUnion": {"transformer_list": [("scale", StandardScaler()), ("best", SelectKBest(k=2))]},
    "FixedThresholdClassifier": {"estimator": CLASSIFIER},
    "MultiOutputClassifier": {"estimator": CLASSIFIER},
    "MultiOutputRegressor": {"estimator": REGRESSOR},
    "OneVsOneClassifier": {"estimator": CLASSIFIER},
    "OneVsRestClassifier": {"estimator": CLASSIFIER},
    "OutputCodeClassifier": {"estimator": CLASSIFIER},
    "RFE": {"estimator": CLASSIFIER},
    "RFECV": {"estimator": CLASSIFIER, "cv": 3},
    "RadiusNeighborsClassifier": {"radius": 10.0},
    "RadiusNeighborsRegressor": {"radius": 10.0},
    "RadiusNeighborsTransformer": {"radius": 10.0},
    "RegressorChain": {"estimator": REGRESSOR},
    "SelectFromModel": {"estimator": DecisionTreeClassifier(random_state=0)},
    "SelfTrainingClassifier": {"estimator": CLASSIFIER},
    "SequentialFeatureSelector": {"estimator": CLASSIFIER, "cv": 2},
    "SparseCoder": {"dictionary": np.eye(4)},
    "StackingClassifier": {
        "estimators": [("a", CLASSIFIER), ("b", DecisionTreeClassifier(random_state=0))]
    },
    "StackingRegressor": {
        "estimators": [("a", REGRESSOR), ("b", DecisionTreeRegressor(random_state=0))]
    },
    "TunedThresholdClassifierCV": {"estimator": CLASSIFIER, "thresholds": 5, "cv": 2},
    "LogisticRegressionCV": {"Cs": 3, "cv": 2},
    "ElasticNetCV": {"alphas": 5, "cv": 2},
    "LassoCV": {"alphas": 5, "cv": 2},
    "MultiTaskElasticNetCV": {"alphas": 5, "cv": 2},
    "MultiTaskLassoCV": {"alphas": 5, "cv": 2},
    "CalibratedClassifierCV": {"estimator": CLASSIFIER, "cv": 2},
    "LinearDiscriminantAnalysis": {"n_components": 1},
    "CCA": {"n_components": 1},
    "DictionaryLearning": {"n_components": 2, "max_iter": 5},
    "FeatureHasher": {"n_features": 32},
    "GaussianRandomProjection": {"n_components": 2},
    "HashingVectorizer": {"n_features": 32},
    "MiniBatchDictionaryLearning": {"n_components": 2, "max_iter": 2},
    "MiniBatchSparsePCA": {"n_components": 2, "max_iter": 2},
    "OrthogonalMatchingPursuitCV": {"max_iter": 2},
    "PLSCanonical": {"n_components": 1},
    "PLSRegression": {"n_components": 1},
    "PLSSVD": {"n_components": 1},
    "SparsePCA": {"n_components": 2, "max_iter": 5},
    "SparseRandomProjection": {"n_components": 2},
    "VotingClassifier": {
        "estimators": [("a", CLASSIFIER), ("b", DecisionTreeClassifier(random_state=0))]
    },
    "VotingRegressor": {
        "estimators": [("a", REGRESSOR), ("b", DecisionTreeRegressor(random_state=0))]
    },
    "GridSearchCV": {"estimator": DecisionTreeClassifier(), "param_grid": {"max_depth": [1, 3]}},
    "RandomizedSearchCV": {
        "estimator": DecisionTreeClassifier(random_state=0),
        "param_distributions": {"max_depth": [1, 3]},
        "n_iter": 2,
    },
}
GIVEN["GridSearchCV"]["estimator"] = DecisionTreeClassifier(random_state=0)
SHORT = {"n_estimators": 5, "n_components": 2, "max_iter": 100, "n_knots": 4, "n_quantiles": 10}

# Settings that hold for ours only here.
MORE = {
    "CertifiedSVC": {"Cs": (1.0,), "widths": (1.0,), "cv": None},
    "ThresholdSelector": {"estimator": CLASSIFIER},
}

# What makes no prediction or transformation of rows that an error could be counted on.
LEFT_OUT = {
    "FrozenEstimator": "is looked into: what it holds is audited",
    "LabelBinarizer": "transforms targets",
    "LabelEncoder": "transforms targets",
    "MultiLabelBinarizer": "transforms targets",
    "Pipeline": "is what transformers are walked in",
    "Forecaster": "is fitted to a series and not to rows",
    "PatchExtractor": "takes images",
    "PrincipalManifold": "takes minutes for nine fits",
    "PrincipalManifoldCV": "takes minutes for nine fits",
}


@dataclass
class Walked:
    """One estimator in all scenarios."""

    library: str
    kind: str
    name: str
    status: dict[str, str] = field(default_factory=dict)
    reason: dict[str, str] = field(default_factory=dict)
    same: dict[str, bool] = field(default_factory=dict)
    """Whether its outputs on new rows are those of the same estimator of the training rows."""

    refused: str = ""

    @property
    def false(self) -> list[str]:
        """Scenarios in which it was called checked, and does not follow from the training rows."""
        return [
            scenario
            for scenario, status in self.status.items()
            if status == "checked" and not self.same[scenario]
        ]


def table(library: str, name: str, kind: str) -> tuple[Any, Any, Any]:
    """Return rows, labels or numbers, and new rows, as an estimator takes them."""
    rng = np.random.default_rng(0)
    n = N + 200
    X = rng.uniform(0.1, 2.0, size=(n, 4))
    f = X[:, 0] - X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    y: Any = (f > np.median(f)).astype(int) if kind == "classifier" else f - f.min() + 0.1
    if name.startswith("Multi") and name != "MultiOutputSVR" and library == "scikit-learn":
        y = np.column_stack([y, np.roll(y, 1)]) if "NB" not in name else y
    if name in ("ClassifierChain", "RegressorChain", "MultiOutputSVR"):
        y = np.column_stack([y, np.roll(y, 1)])
    if "Vectorizer" in name and name != "DictVectorizer":
        words = np.array([f"word{i}" for i in range(40)])
        X = np.array([" ".join(rng.choice(words, 6)) for _ in range(n)], dtype=object)
    elif name == "DictVectorizer" or name == "FeatureHasher":
        X = np.array([{f"w{i}": 1.0 for i in rng.integers(40, size=4)} for _ in range(n)])
    elif name in ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "CategoricalNB"):
        X = np.floor(3.0 * X)
    elif name in ("KNNImputer", "SimpleImputer", "IterativeImputer", "MissingIndicator", "Imputer"):
        X[rng.random(X.shape) < 0.2] = np.nan
    elif name in ("SmoothingSpline", "IsotonicRegression"):
        X = X[:, :1]
    elif name == "ThinPlateSpline":
        X = X[:, :2]
    return X, y, X[N:]


def _made(cls: type, name: str, given: dict[str, Any]) -> Any:
    model = cls(**given)
    params = model.get_params(deep=False)
    short = {key: value for key, value in SHORT.items() if key in params and key not in given}
    short = {key: v for key, v in short.items() if not isinstance(params[key], str)}
    if "random_state" in params:
        short["random_state"] = 0
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        short |= {"handle_unknown": "ignore"} if name == "OneHotEncoder" else {}
    return model.set_params(**short)


def subjects() -> Iterator[tuple[Walked, Callable[[], Any]]]:
    """Yield every estimator with a function that makes it."""
    for kind in ("classifier", "regressor", "transformer"):
        for name, cls in all_estimators(type_filter=kind):
            yield (
                Walked("scikit-learn", kind, name),
                lambda cls=cls, name=name: _made(cls, name, GIVEN.get(name, {})),
            )
    for name in ("GridSearchCV", "RandomizedSearchCV"):
        cls = dict(all_estimators())[name]
        yield (
            Walked("scikit-learn", "classifier", name),
            lambda cls=cls, name=name: _made(cls, name, GIVEN[name]),
        )
    for cls, _ in sorted(estimators().items(), key=lambda pair: pair[1][0]):
        name = cls.__name__
        if not issubclass(cls, BaseEstimator):
            continue
        given = OURS.get(name, {}) | MORE.get(name, {})

        def make(cls: type = cls, name: str = name, given: dict[str, Any] = given) -> Any:
            return _made(cls, name, given)

        kind = "regressor"
        if hasattr(cls, "transform") and not hasattr(cls, "predict"):
            kind = "transformer"
        elif _classifies(make):
            kind = "classifier"
        yield Walked("mercer", kind, name), make


def _classifies(make: Callable[[], Any]) -> bool:
    model = make()
    return bool(is_classifier(model) or type(model).__name__ == "ThresholdSelector")


def _outputs(model: Any, X: Any) -> list[Any]:
    names = ("transform", "predict_proba", "decision_function", "predict")
    found = []
    for name in names:
        if hasattr(model, name):
            value = getattr(model, name)(X)
            found.append(value.toarray() if hasattr(value, "toarray") else np.asarray(value))
    return found


def _equal(first: Any, second: Any, X: Any) -> bool:
    try:
        one, other = _outputs(first, X), _outputs(second, X)
    except Exception:
        return False
    return all(
        a.shape == b.shape
        and (
            np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
            if a.dtype.kind == "f"
            else np.array_equal(a, b)
        )
        for a, b in zip(one, other, strict=True)
    )


def walk(one: Walked, make: Callable[[], Any]) -> Walked:
    """Fit one estimator to all rows, to the held-out rows and to the training rows, and audit."""
    if one.name in LEFT_OUT:
        one.refused = LEFT_OUT[one.name]
        return one
    X, y, X_new = table(one.library, one.name, one.kind)
    try:
        model = make()
        if one.kind == "transformer":
            y = (y > np.median(y)).astype(int)
            # Trees take missing values and sparse rows, so nothing else is fitted in between.
            model = make_pipeline(model, DecisionTreeClassifier(random_state=0))
        train, test = np.arange(TRAIN), np.arange(TRAIN, N)
        fitted = {
            scenario: clone(model).fit(X[rows], y[rows])
            for scenario, rows in zip(SCENARIOS, (np.arange(N), test, train), strict=True)
        }
        proper = fitted["training rows"]
        if not isinstance(model, Pipeline) and not hasattr(proper, "predict"):
            one.refused = "does not predict"
            return one
    except Exception as error:
        one.refused = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
        return one
    for scenario, made in fitted.items():
        found = audit(made, X[train], y[train], X[test], y[test])
        topics = ["preparation", "features"] if one.kind == "transformer" else ["fit"]
        known = [(found.held_out[t].status, found.reasons["held out", t]) for t in topics]
        order = ("assumed", "checked", "unknown", "violated")
        status, reason = max(known, key=lambda pair: order.index(pair[0]))
        one.status[scenario], one.reason[scenario] = status, reason
        mine, right = (made[0], proper[0]) if isinstance(made, Pipeline) else (made, proper)
        one.same[scenario] = _equal(mine, right, X_new)
        # Nobody proves where settings, features and the split come from.
        for topic in ("settings", "split", "features"):
            assert found.held_out[topic].status in ("assumed", "violated"), (one.name, topic)
        if scenario != "training rows" and one.kind == "transformer":
            # The machine after it was fitted to the same wrong rows.
            assert found.held_out["fit"].status != "checked", (one.name, scenario)
    return one


def walk_all(only: Callable[[Walked], bool] = lambda one: True) -> list[Walked]:
    """Walk over all estimators, without their warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [walk(one, make) for one, make in subjects() if only(one)]
