"""Graphs of ONNX say what their models say, in onnxruntime, in a process without this library.

In float64 the graph adds the same terms in another order: 1e-12 of a standard deviation. In float32
a feature that lies at 100 has an error of 4e-6 before anything is computed; 1e-4 of a standard
deviation is promised.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import fits
import mercer
import mercer_research
from mercer import kernels
from mercer.io import CannotConvert, to_onnx
from mercer.io.plans import METHODS
from mercer.kernels import Gaussian, Linear
from mercer.local import Local
from mercer.preprocessing import DateEncoder, RankNormalizer, Scaler
from mercer.regularizers import (
    Breaks,
    Columns,
    Constant,
    Functions,
    Polynomial,
)
from mercer.tabular.forest import round_down

SHIFT = 100.0
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=60)
TWO = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-0.5, 0.5])
NEW = (RNG.normal(size=(40, 3)) + SHIFT).astype(np.float32).astype(np.float64)

KERNELS = {
    "gaussian": Gaussian(1.5),
    "relevance": Gaussian([1.0, 2.0, 5.0]),
    "matern 1/2": kernels.Matern(2.0, nu=0.5),
    "matern 3/2": kernels.Matern([2.0, 1.0, 3.0], nu=1.5),
    "matern 5/2": kernels.Matern(2.0, nu=2.5),
    "matern inf": kernels.Matern(2.0, nu=np.inf),
    "rational": kernels.RationalQuadratic(2.0, alpha=1.5),
    "powered": kernels.PoweredExponential(2.0, exponent=1.3),
    "laplacian": kernels.Laplacian([2.0, 3.0, 4.0]),
    "inverse multiquadric": kernels.InverseMultiquadric(2.0),
    "cauchy": kernels.Cauchy(2.0),
    "wendland": kernels.Wendland(6.0, dim=3),
    "distance": kernels.Polyharmonic(0.7),
    "cube": kernels.Polyharmonic(3.0),
    "thin plate": kernels.Polyharmonic(2.0),
    "linear": Linear(),
    "scaled": 0.3 * Gaussian(2.0),
    "sum": 0.7 * Gaussian(2.0) + 0.1 * Linear(),
    "product": Gaussian(2.0) * kernels.RationalQuadratic(3.0) * 1.7,
    "power": Gaussian(3.0) ** 3,
    "active": Gaussian(1.0).on([0]) + 2.0 * kernels.Matern(2.0).on([1, 2]) + Linear().on([2]),
    "stretched": kernels.Stretched(Gaussian(1.0), [1.0, 2.0, 3.0]),
    "stretched linear": kernels.Stretched(Linear(), [1.0, 2.0, 3.0]) + Gaussian(2.0),
    "additive": kernels.Additive(kernels.Matern(1.0)),
    "tensor": kernels.Tensor(kernels.Matern(2.0)),
}
# Kernels that grow with their points: at 100 the fit itself has few digits, so they lie at one.
GROWING = {
    "polynomial": kernels.Polynomial(degree=3, gamma=0.5, coef0=1.0),
    "sigmoid": kernels.Sigmoid(gamma=0.1, coef0=0.2),
    "polynomial times": kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0) * Gaussian(2.0),
    "linear times": Linear() * Gaussian(2.0),
}
# Polynomials of unpenalized features that the library itself evaluates at 100, where squares are
# 1e4 and lose four digits more.
TRENDS = {
    "plane": Polynomial(1),
    "parabola": Polynomial(2),
    "column": Constant() + Columns([1]),
    "jump": Constant() + Breaks([0.1, SHIFT + 0.1], column=1),
    "kink": Constant() + Breaks([SHIFT - 0.2], order=1, column=2),
}
MACHINES = {
    "svr": (mercer.SVR(C=2.0), Y),
    "standardized": (mercer.SVR(standardize=True), Y),
    "lssvr": (mercer.LSSVR(C=2.0), Y),
    "outputs": (mercer.LSSVR(C=2.0), np.column_stack([Y, X[:, 0], X[:, 1]])),
    "huber": (mercer.estimators.HuberSVR(), Y),
    "additive": (mercer.AdditiveRegressor(), Y),
    "band": (mercer.QuantileBand([0.1, 0.4, 0.9]), Y),
    "tube": (mercer.estimators.SupportVectorTube(exceptions=5), Y),
    "nu tube": (mercer.estimators.HeteroscedasticNuSVR(nu=0.3, symmetric=False), Y),
    "local tube": (mercer.estimators.HeteroscedasticSVR(upper=0.3, lower=0.1), Y),
    "conformal": (mercer.ConformalRegressor(mercer.SVR(), method="split", random_state=0), Y),
    "leave one out": (mercer.ConformalRegressor(mercer.LSSVR(C=2.0)), Y),
    "censored": (mercer.CensoredRegressor(log=True), np.exp(Y)),
    "nystrom": (mercer.SVR(approximation=mercer.Nystrom(15)), Y),
    "random features": (mercer.SVR(gamma=0.3, approximation=mercer.RandomFeatures(30)), Y),
    "terms": (mercer_research.estimators.TermSelector(), Y),
    "tuned": (mercer.selection.LSSVRCV(budget=2), Y),
    "svc": (mercer.SVC(), TWO),
    "svc of three": (mercer.SVC(), THREE),
    "pairs": (mercer.SVC(decision_function_shape="ovo"), THREE),
    "ties": (mercer.SVC(break_ties=True), THREE),
    "nystrom of three": (mercer.SVC(approximation=mercer.Nystrom(15)), THREE),
    "truth": (mercer.NuSVC(nu=0.3), Y > 0),
    "objects": (mercer.NuSVC(nu=0.3), TWO.astype(object)),
    "logistic": (mercer.KernelLogisticRegression(), TWO),
    "logistic of three": (mercer.KernelLogisticRegression(), THREE),
    "softmax": (mercer.KernelLogisticRegression(multi_class="multinomial"), THREE),
    "hinge": (mercer.KernelClassifier("hinge"), THREE),
    "codes": (mercer.LSSVC(C=2.0), TWO),
    "codes of three": (mercer.LSSVC(C=2.0), THREE),
    "hamming": (mercer.LSSVC(C=2.0, codes="one-vs-one", decoding="hamming"), THREE),
    "shares": (mercer.LSSVC(C=2.0, codes="ecoc", decoding="least-squares"), THREE),
    "one class": (mercer.OneClassSVM(nu=0.2), None),
    "scaler": (make_pipeline(Scaler(), mercer.SVR()), Y),
    "ranks": (make_pipeline(RankNormalizer(), mercer.SVR()), Y),
    "categories": (mercer.SVR(kernel=kernels.Laplacian([1.0, 2.0, 0.5], categories=[2])), Y),
    "local": (mercer.SVR(C=2.0, approximation=Local(leaf_size=20)), Y),
    "blended": (mercer.LSSVR(C=2.0, approximation=Local(20, overlap=0.1, blend=True)), Y),
    "local classes": (mercer.KernelLogisticRegression(approximation=Local(leaf_size=15)), THREE),
    "local votes": (mercer.SVC(approximation=Local(leaf_size=15)), TWO),
    "nearby": (mercer_research.linear.NadarayaWatson(), Y),
    "network": (mercer_research.linear.RBFNetwork(5), Y),
    "threshold": (mercer_research.selection.ThresholdSelector(mercer.SVC()), TWO),
    "worst gaps": (
        mercer.MissingInputRegressor(strategy=mercer_research.estimators.WorstCase()),
        Y,
    ),
    "auto": (mercer.AutoRegressor(), Y),
    "auto classes": (mercer.AutoClassifier(members=["matern-ranks", "squares-gaussian"]), THREE),
    "auto default": (mercer.AutoClassifier(), TWO),
    "auto trees": (mercer.AutoClassifier(members=["forest", "extra-trees", "boosting"]), THREE),
    "auto numbers": (mercer.AutoRegressor(members=["gaussian", "extra-trees", "boosting"]), Y),
    "auto pipeline": (
        make_pipeline(StandardScaler(), mercer.AutoClassifier(members=["matern", "metric"])),
        TWO,
    ),
    "pipeline": (make_pipeline(MinMaxScaler(), mercer.SVR()), Y),
    "pipeline of classes": (make_pipeline(StandardScaler(), mercer.SVC()), THREE),
    "search": (GridSearchCV(make_pipeline(StandardScaler(), mercer.SVR()), {"svr__C": [2.0]}), Y),
}
# Exponentials of decision values have relative errors of their absolute ones, and rounding of
# scikit-learn's scaled features, at 100, is a digit and a half more than of ours.
LOOSER = {"trend parabola": 1e-11, "scaler": 1e-11, "pipeline": 1e-11} | {
    name: 1e-11 for name in ("pipeline of classes", "search")
}


ENDS = ["lower", "upper"]


def cases():
    """Yield names, fitted models and where they are asked."""
    for name, kernel in KERNELS.items():
        yield f"kernel {name}", mercer.SVR(kernel=kernel, C=2.0).fit(X + SHIFT, Y), NEW
    for name, kernel in GROWING.items():
        near = (NEW - SHIFT).astype(np.float32).astype(np.float64)
        yield f"growing {name}", mercer.SVR(kernel=kernel, C=0.1).fit(X, Y), near
    for name, space in TRENDS.items():
        machine = mercer.SVR(gamma=0.3, C=2.0, null_space=space)
        yield f"trend {name}", machine.fit(X + SHIFT, Y), NEW
    for name, (machine, y) in MACHINES.items():
        yield name, machine.fit(X + SHIFT, y), NEW


def asked(model, name, points):
    """Return what a model says, in the form of an output."""
    if name in ENDS:
        return np.asarray(model.predict_interval(points))[:, [ENDS.index(name)]]
    answer = np.asarray(getattr(model, METHODS[name])(points))
    if name == "scores" and answer.ndim == 1 and hasattr(model, "classes_"):
        return np.column_stack([-answer, answer])
    return answer.reshape(len(points), -1)


def rounding(model, points):
    """Return the rounding of the library's own sum, where kernel values grow with the points.

    A sum of terms has an error of a rounding unit of the sum of their sizes.
    """
    model = model[-1] if isinstance(model, Pipeline) else model
    if hasattr(model, "members_"):
        # Coefficients of nearly noiseless machines are large, and cancel.
        sizes = [np.abs(getattr(one.machine, "dual_coef_", 0.0)).sum() for one in model.members_]
        scale = getattr(model, "_scale", np.ones(1))[0]
        return np.finfo(np.float64).eps * scale * float(np.atleast_2d(model.weights_)[0] @ sizes)
    kernel = getattr(model, "kernel", None)
    if not (isinstance(kernel, kernels.Kernel) and "Linear" in repr(kernel)):
        return 0.0
    sizes = np.abs(kernel(points, model.support_vectors_)) @ np.abs(model.dual_coef_[0])
    return np.finfo(np.float64).eps * np.max(sizes)


def run(folder):
    script = Path(__file__).with_name("served.py")
    run = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, env={"PATH": ""}
    )
    assert run.returncode == 0, run.stderr
    return pickle.loads((folder / "served.pkl").read_bytes())


@pytest.mark.filterwarnings("ignore:The unpenalized functions:UserWarning")
@pytest.mark.filterwarnings("ignore:Sigmoid:UserWarning")
def test_parity_without_the_library(tmp_path):
    models, declared, extra = {}, {}, {"ai.onnx.ml"}
    for name, model, points in cases():
        for precision in ("float64", "float32"):
            graph = to_onnx(model, precision=precision)
            onnx.checker.check_model(graph)
            if "pipeline" not in name and name not in ("search", "auto"):
                assert {node.domain for node in graph.graph.node} <= {""}, name
            assert {node.domain for node in graph.graph.node} <= {"", *extra}
            stem = f"{name} {precision}".replace("/", "-")
            (tmp_path / f"{stem}.onnx").write_bytes(graph.SerializeToString())
            (tmp_path / f"{stem}.pkl").write_bytes(pickle.dumps({"X": points.astype(precision)}))
            models[stem] = name, model, points, precision
            declared[stem] = {
                one.name: [place.dim_value for place in one.type.tensor_type.shape.dim[1:]]
                for one in graph.graph.output
            }
    found, wrong, outputs = run(tmp_path), [], set()
    for stem, (name, model, points, precision) in models.items():
        assert {output: [*got.shape[1:]] for output, got in found[stem].items()} == declared[stem]
        for output, got in found[stem].items():
            outputs.add(output)
            if output == "label":
                expected = np.asarray(model.predict(points))
                if not np.array_equal(got, expected):
                    wrong.append(f"{stem}: {np.mean(got != expected):.3f} of labels differ")
                continue
            true = asked(model, output, points)
            assert got.dtype == precision
            error = np.max(np.abs(got - true)) / np.std(true)
            allowed = LOOSER.get(name, 1e-12) + rounding(model, points) / np.std(true)
            if not error <= (1e-4 if precision == "float32" else allowed):
                wrong.append(f"{stem} {output}: {error:.1e} of a standard deviation")
    assert not wrong, "\n".join(wrong)
    assert outputs == {*METHODS, *ENDS, "label"} - {"interval"}
    assert "probabilities" in found["codes float64"]  # by Platt's sigmoid, of two classes only


def test_a_graph_without_centring_would_be_noticed():
    """Uncentred squares in float32, as SVMRegressor has them, are beyond what is allowed."""
    model = mercer.SVR(kernel=Gaussian(1.5), C=2.0).fit(X + SHIFT, Y)
    Z, A = (a.astype(np.float32) for a in (model.support_vectors_, model.dual_coef_[0]))
    x = NEW.astype(np.float32)
    squares = np.sum(x**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - np.float32(2.0) * (x @ Z.T)
    found = np.exp(squares * np.float32(-0.5 / 1.5**2)) @ A + np.float32(model.intercept_[0])
    true = model.predict(NEW)
    assert np.max(np.abs(found - true)) > 1e-3 * np.std(true)


def test_planes_have_more_digits_than_the_sums_they_stand_for(tmp_path):
    """Beside the sum in extended precision; the library's own sum has an error of 1e-10 here."""
    model = mercer.SVR(kernel=Linear(), C=2.0).fit(X + SHIFT, Y)
    a, Z = model.dual_coef_[0].astype(np.longdouble), model.support_vectors_
    true = (NEW.astype(np.longdouble) @ Z.T) @ a + model.intercept_[0]
    (tmp_path / "plane.onnx").write_bytes(to_onnx(model).SerializeToString())
    (tmp_path / "plane.pkl").write_bytes(pickle.dumps({"X": NEW}))
    got = run(tmp_path)["plane"]["prediction"][:, 0]
    # Of 64 bits of a product of two numbers, 53 are those of the intercept that was stored.
    stored = np.finfo(np.float64).eps * np.sum(np.abs(a) * np.abs(Z @ NEW[0]))
    assert np.max(np.abs(got - true)) <= max(1e-12 * np.std(Y), 0.1 * float(stored))


def test_scores_of_two_classes_are_in_the_order_of_the_labels():
    model = mercer.SVC().fit(X, TWO)
    graph = to_onnx(model)
    scores = np.asarray(asked(model, "scores", X))
    assert np.array_equal(model.classes_[np.argmax(scores, axis=1)], model.predict(X))
    assert [one.name for one in graph.graph.output] == ["label", "scores"]


def test_leaves_of_one_class(tmp_path):
    bands = np.digitize(X[:, 0], [-0.4, 0.4])
    found = {}
    for name, cls in (("votes", mercer.SVC), ("logistic", mercer.KernelLogisticRegression)):
        model = found[name] = cls(approximation=Local(leaf_size=8)).fit(X, bands)
        assert min(len(leaf.classes) for leaf in model.leaves_) == 1
        (tmp_path / f"{name}.onnx").write_bytes(to_onnx(model).SerializeToString())
        (tmp_path / f"{name}.pkl").write_bytes(pickle.dumps({"X": X}))
    for name, got in run(tmp_path).items():
        np.testing.assert_array_equal(got["label"], found[name].predict(X))
        for output in got.keys() - {"label"}:
            true = asked(found[name], output, X)
            np.testing.assert_allclose(got[output], true, rtol=0, atol=1e-12 * np.std(true))


def test_inputs_of_several_types(tmp_path):
    """A table with words, numbers and gaps goes through scikit-learn's own converters."""
    table = pd.DataFrame({"size": X[:, 0] + SHIFT, "kind": np.where(X[:, 1] > 0, "a", "b")})
    table.loc[::7, "size"] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((numbers, ["size"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(columns, mercer.SVR()).fit(table, Y)
    types = [("size", FloatTensorType([None, 1])), ("kind", StringTensorType([None, 1]))]
    graph = to_onnx(model, precision="float32", initial_types=types)
    (tmp_path / "table.onnx").write_bytes(graph.SerializeToString())
    inputs = {
        "size": table[["size"]].to_numpy(np.float32),
        "kind": table[["kind"]].to_numpy(object),
    }
    (tmp_path / "table.pkl").write_bytes(pickle.dumps(inputs))
    got, true = run(tmp_path)["table"]["prediction"][:, 0], model.predict(table)
    assert np.max(np.abs(got - true)) <= 1e-4 * np.std(true)


def test_words_that_are_read_go_in_as_numbers_and_days(tmp_path):
    """A graph does not read words: inputs of words for these columns are refused by name."""
    rng, n = np.random.default_rng(0), 60
    days, x = pd.date_range("2020-01-01", periods=n), rng.normal(size=n).round(2)
    table = pd.DataFrame(
        {
            "price": [f"{v:.2f}".replace(".", ",") for v in x],
            "sold": days.strftime("%d.%m.%Y"),
            "typed": days[::-1],
            "kind": rng.choice(["a", "b"], n),
        }
    )
    table.loc[3, "sold"] = None
    model = mercer.AutoRegressor(members=["gaussian"]).fit(table, np.arange(n) + x)
    kinds = {"price": DoubleTensorType, "sold": DoubleTensorType, "typed": DoubleTensorType,
             "kind": StringTensorType}  # fmt: skip
    graph = to_onnx(model, initial_types=[(k, t([None, 1])) for k, t in kinds.items()])
    since = days.to_numpy("datetime64[D]").astype(float)
    feed = {
        "price": x[:, None],
        "sold": np.where(np.arange(n) == 3, np.nan, since)[:, None],
        "typed": since[::-1, None],
        "kind": table[["kind"]].to_numpy(object),
    }
    (tmp_path / "m.onnx").write_bytes(graph.SerializeToString())
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(feed))
    true = model.predict(table)
    allowed = (1e-12 + rounding(model, None)) * np.std(true)
    assert np.max(np.abs(run(tmp_path)["m"]["prediction"].ravel() - true)) <= allowed
    for name, said in (("price", "held numbers"), ("sold", "held dates.*days since 1970-01-01")):
        wrong = kinds | {name: StringTensorType}
        with pytest.raises(CannotConvert, match=f"the column '{name}' {said}"):
            to_onnx(model, initial_types=[(k, t([None, 1])) for k, t in wrong.items()])


def test_tables_of_words_gaps_and_dates(tmp_path):
    """Through the columns of a pipeline, and column by column; never met words and gaps too."""
    rng, n = np.random.default_rng(1), 90

    def table(words):
        frame = pd.DataFrame({"size": rng.normal(size=n) + SHIFT, "kind": rng.choice(words, n)})
        frame["zone"], frame["day"] = rng.integers(0, 4, n), 19000.0 + rng.integers(0, 60, n)
        frame.loc[::7, "size"] = frame.loc[::11, "day"] = np.nan
        return frame

    known, new = table(["a", "b", "c", None]), table(["a", "b", None, "new"])
    y = (known.kind == "a") + np.sin(known["size"].fillna(0.0)) + 0.1 * rng.normal(size=n)
    few = ["laplacian-ranks", "gaussian", "forest"]
    columns = make_column_transformer(
        ("passthrough", ["size", "kind", "zone"]), (DateEncoder(), ["day"])
    ).set_output(transform="pandas")
    models = {
        "whole": mercer.AutoRegressor(members=few, categorical_features=["zone"]),
        "parts": make_pipeline(columns, mercer.AutoClassifier(members=few)),
    }
    models["whole"].fit(known, y)
    models["parts"].fit(known, np.where(y > 0.5, "more", "less"))
    for precision, number in {"float64": DoubleTensorType, "float32": FloatTensorType}.items():
        kinds = [("size", number), ("kind", StringTensorType), ("zone", Int64TensorType)]
        types = [(name, kind([None, 1])) for name, kind in [*kinds, ("day", DoubleTensorType)]]
        feed = {
            "size": new[["size"]].to_numpy(precision),
            "kind": new[["kind"]].fillna("").to_numpy(object),
            "zone": new[["zone"]].to_numpy(np.int64),
            "day": new[["day"]].to_numpy(np.float64),
        }
        for name, model in models.items():
            graph = to_onnx(model, precision=precision, initial_types=types)
            (tmp_path / f"{name} {precision}.onnx").write_bytes(graph.SerializeToString())
            (tmp_path / f"{name} {precision}.pkl").write_bytes(pickle.dumps(feed))
    found = run(tmp_path)
    new32 = new.assign(size=new["size"].astype(np.float32).astype(np.float64))
    for stem, outputs in found.items():
        name, precision = stem.split()
        asking = new if precision == "float64" else new32
        allowed = 1e-12 + rounding(models[name], None) if precision == "float64" else 1e-4
        for output, got in outputs.items():
            if output == "label":
                assert np.array_equal(got, models[name].predict(asking))
                continue
            true = asked(models[name], output, asking)
            assert np.max(np.abs(got - true)) <= allowed * np.std(true), (stem, output)


def test_ordered_labels_are_ranks(tmp_path):
    """Words and whole numbers with an order, gaps and labels that were never met."""
    rng, n = np.random.default_rng(2), 90
    grades = pd.CategoricalDtype(["low", "medium", "high"], ordered=True)
    stars = pd.CategoricalDtype([3, 2, 1], ordered=True)

    def table(words, numbers):
        frame = pd.DataFrame({"x": rng.normal(size=n), "grade": rng.choice(words, n)})
        return frame.assign(stars=rng.choice(numbers, n))

    known = table(["low", "medium", "high", None], [1.0, 2.0, 3.0, np.nan])
    new = table(["low", "high", None, "best"], [1.0, 3.0, 4.0, np.nan])
    typed = known.astype({"grade": grades, "stars": stars})
    y = typed.grade.cat.codes + 0.5 * typed.stars.cat.codes + 0.1 * rng.normal(size=n)
    model = mercer.AutoRegressor(members=["laplacian-ranks", "gaussian"]).fit(typed, y)
    assert len(model.encoder_.missing_) == 2
    types = [(name, DoubleTensorType([None, 1])) for name in new]
    types[1] = ("grade", StringTensorType([None, 1]))
    graph = to_onnx(model, precision="float64", initial_types=types)
    feed = {name: new[[name]].to_numpy(np.float64) for name in ("x", "stars")}
    feed["grade"] = new[["grade"]].fillna("").to_numpy(object)
    (tmp_path / "ordered.onnx").write_bytes(graph.SerializeToString())
    (tmp_path / "ordered.pkl").write_bytes(pickle.dumps(feed))
    for output, got in run(tmp_path)["ordered"].items():
        true = asked(model, output, new)
        assert np.max(np.abs(got - true)) <= (1e-12 + rounding(model, None)) * np.std(true)


def test_points_on_cuts_of_trees(tmp_path):
    """Boosting cuts at values of the sample, where the last digit of a rank would decide."""
    rng = np.random.default_rng(0)
    Z = np.exp(rng.normal(size=(500, 2)))
    model = mercer.AutoClassifier(members=["boosting", "forest"]).fit(Z, Z[:, 0] * Z[:, 1] > 1.0)
    (boosting,) = (one for one in model.members_ if one.name == "boosting")
    cuts = boosting.machine.nodes[boosting.machine.nodes["cut"] < np.inf]
    points = boosting.points(Z).astype(np.float32)
    on = [np.isin(cuts["cut"][cuts["feature"] == j], points[:, j]) for j in range(2)]
    # Before 1.9, scikit-learn cuts between values.
    assert np.concatenate(on).any() or tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
    (tmp_path / "m.onnx").write_bytes(to_onnx(model, precision="float64").SerializeToString())
    (tmp_path / "m.pkl").write_bytes(pickle.dumps({"X": Z}))
    np.testing.assert_allclose(
        run(tmp_path)["m"]["probabilities"], model.predict_proba(Z), rtol=0.0, atol=1e-12
    )


def test_cuts_in_float32():
    """The largest number of float32 that is not above a cut divides float32 as the cut does."""
    near = np.float32(0.1) + np.arange(-3, 4, dtype=np.float32) * np.spacing(np.float32(0.1))
    cuts = np.concatenate([near.astype(float), 0.5 * (near[1:].astype(float) + near[:-1]), [0.1]])
    found = round_down(cuts)
    assert found.dtype == np.float32
    assert np.array_equal(near[:, None] <= found, near[:, None].astype(float) <= cuts)
    assert not np.array_equal(
        near[:, None] <= cuts.astype(np.float32), near[:, None].astype(float) <= cuts
    )


def test_inputs_of_a_wrong_kind_are_refused():
    table = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    model = mercer.AutoRegressor(members=["gaussian"]).fit(table, Y)
    numbers = [(name, DoubleTensorType([None, 1])) for name in table]
    with pytest.raises(CannotConvert, match="'kind' has the category 'a': give it an input of"):
        to_onnx(model, initial_types=numbers)
    types = [(name, StringTensorType([None, 1])) for name in table]
    with pytest.raises(CannotConvert, match="'size' held numbers"):
        to_onnx(model, initial_types=types)


@pytest.mark.parametrize("computing", [None, "float32", "float64"])
@pytest.mark.parametrize("fed", [np.float32, np.float64, np.int64])
def test_rows_are_fed_in_the_types_of_the_sample(fed, computing):
    model = make_pipeline(Scaler(), mercer.SVR()).fit(5.0 * X, Y)
    graph = to_onnx(model, X[:1].astype(fed), precision=computing)
    onnx.checker.check_model(graph)
    rows = (5.0 * X).astype(fed)
    (found,) = onnxruntime.InferenceSession(graph.SerializeToString()).run(None, {"X": rows})
    single = computing == "float32" or (computing is None and fed == np.float32)
    assert found.dtype == (np.float32 if single else np.float64)
    true = model.predict(rows.astype(np.float64))
    assert np.max(np.abs(found[:, 0] - true)) <= (1e-4 if single else 1e-12) * np.std(true)


def test_an_input_has_one_type():
    """Why the sample decides: onnxruntime casts no feed."""
    graph = to_onnx(mercer.SVR().fit(X, Y), X).SerializeToString()
    with pytest.raises(Exception, match="Unexpected input data type"):
        onnxruntime.InferenceSession(graph).run(None, {"X": X.astype(np.float32)})


def mixed_table():
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=60).round(2)
    table = pd.DataFrame(
        {
            "size": X[:, 0],
            "kind": rng.choice(["a", "b"], 60),
            "zone": rng.integers(0, 4, 60),
            "new": X[:, 1] > 0,
            "day": pd.date_range("2020-01-01", periods=60),
            "price": [f"{v:.2f}".replace(".", ",") for v in numbers],
            "key": [f"row {j}" for j in range(60)],
            "land": "NL",
        }
    )
    days = table.day.to_numpy("datetime64[D]").astype(float)
    feed = {name: table[[name]].to_numpy(object) for name in ("kind", "key", "land")}
    feed |= {name: table[[name]].to_numpy() for name in ("size", "zone", "new")}
    return table, feed | {"day": days[:, None], "price": numbers[:, None]}


@pytest.mark.filterwarnings("ignore:Column 'key' is left out:UserWarning")
def test_the_model_knows_its_columns():
    """Words, dates and words that are numbers, with a sample and without."""
    table, feed = mixed_table()
    model = mercer.AutoRegressor(members=["gaussian"]).fit(table, Y + (table.kind == "a"))
    true = model.predict(table)
    ends = model.predict_interval(table)
    plain = {name: values.astype(float) if values.dtype != object else values
             for name, values in feed.items()}  # fmt: skip
    for graph, rows in (
        (to_onnx(model), plain),
        (to_onnx(model, table.head(2)), feed),
        (to_onnx(model, table[table.columns[::-1]].head(2)), feed),
    ):
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        assert [one.name for one in session.get_inputs()] == list(table)
        found = dict(zip([o.name for o in session.get_outputs()], session.run(None, rows),
                         strict=True))  # fmt: skip
        assert list(found) == ["prediction", "lower", "upper", "quantiles"]
        allowed = (1e-12 + rounding(model, None)) * np.std(true)
        assert np.max(np.abs(found["prediction"][:, 0] - true)) <= allowed
        assert np.max(np.abs(np.hstack([found["lower"], found["upper"]]) - ends)) <= allowed
    with pytest.raises(ValueError, match="'more' was not there, 'size' is missing"):
        to_onnx(model, table.rename(columns={"size": "more"}))


def test_encoders_of_a_pipeline_know_their_columns():
    table, feed = mixed_table()
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"]))
    few = table[["size", "kind"]]
    model = make_pipeline(columns, mercer.SVR()).fit(few, Y)
    true = model.predict(few)
    for graph, kind, allowed in (
        (to_onnx(model), np.float64, 1e-12),
        (to_onnx(model, few), np.float64, 1e-12),
        (to_onnx(model, few.astype({"size": np.float32})), np.float32, 1e-4),
    ):
        rows = {"size": feed["size"].astype(kind), "kind": feed["kind"]}
        (found,) = onnxruntime.InferenceSession(graph.SerializeToString()).run(None, rows)
        assert np.max(np.abs(found[:, 0] - true)) <= allowed * np.std(true)


def test_a_sample_and_types_are_not_given_together():
    model = mercer.SVR().fit(X, Y)
    with pytest.raises(ValueError, match="X or initial_types, not both"):
        to_onnx(model, X, initial_types=[("X", DoubleTensorType([None, 3]))])
    with pytest.raises(ValueError, match="rows and columns"):
        to_onnx(model, X[:, 0])


REFUSED = {
    "function or a matrix": (mercer.SVR(kernel=lambda A, B: A @ B.T), Y),
    "Bessel functions": (mercer.SVR(kernel=kernels.Matern(1.0, nu=0.7)), Y),
    "Functions cannot be written": (
        mercer.SVR(null_space=Constant() + Functions([lambda Z: np.sin(Z[:, 0])])),
        Y,
    ),
    "Spline has no form": (mercer.SVR(kernel=kernels.Additive(kernels.Spline())), Y),
    "probability=True": (mercer.SVC(probability=True), TWO),
    "labels of type float64": (mercer.SVC(), np.where(Y > 0, 1.0, 2.0)),
}


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("words", REFUSED)
def test_refusals_name_what_cannot_be_converted(words):
    machine, y = REFUSED[words]
    with pytest.raises(CannotConvert, match=words):
        to_onnx(machine.fit(np.abs(X), y))


def test_a_model_that_says_something_else_is_refused():
    class Doubled(mercer.SVR):
        def predict(self, X):
            return 2.0 * super().predict(X)

    with pytest.raises(CannotConvert, match="more than the expansion"):
        to_onnx(Doubled().fit(X, Y))


def test_precisions():
    with pytest.raises(ValueError, match="precision must be one of float32, float64"):
        to_onnx(mercer.SVR().fit(X, Y), precision="float16")


def test_sparse_machines_become_dense_graphs(tmp_path):
    rows = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = mercer.SVR().fit(rows, Y)
    (tmp_path / "sparse.onnx").write_bytes(to_onnx(model).SerializeToString())
    (tmp_path / "sparse.pkl").write_bytes(pickle.dumps({"X": rows.toarray()}))
    true = model.predict(rows)
    got = run(tmp_path)["sparse"]["prediction"][:, 0]
    assert np.max(np.abs(got - true)) <= 1e-12 * np.std(true)


# Predictors whose predictions are no graph of plain operators, with the reason.
WITHOUT = {
    "RegimeSwitchingRegressor": "predicts a row from those before it",
    "Forecaster": "continues a series",
    "SparseAdditiveRegressor": "without its refitted machine",
    "SparseAdditiveClassifier": "without its refitted machine",
    "MarginBoost": "classifiers of any kind",
    "GeneralizedLeastSquares": "cannot be converted",
}


def test_every_predictor_converts_or_is_refused_by_name(everything):
    asked = 0
    for name, model, _, _ in everything:
        cls = fits.find(name)
        without = ("manifold.", "density.", "mercer_research.manifold.")
        if not hasattr(model, "predict") or name.startswith(without):
            continue
        asked += 1
        if cls.__name__ in WITHOUT:
            with pytest.raises(CannotConvert, match=f"{cls.__name__}.*{WITHOUT[cls.__name__]}"):
                to_onnx(model)
        else:
            assert to_onnx(model).graph.output, name
    assert asked > 60


# A process of its own: the largest memory of this one was another test's.
GROWTH = """
import resource, sys
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
session.run(None, {"X": np.zeros((20_000, 3))})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_any_number_of_rows_in_bounded_memory(tmp_path):
    """Rows go through a graph in blocks: none, one, less and more than a block, and many."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(2000, 3))
    model = mercer.SVR(epsilon=0.0).fit(Z, np.sin(Z[:, 0]))
    graph = to_onnx(model).SerializeToString()
    counts = [0, 1, 15, 16, 17, 100]
    for n in counts:
        (tmp_path / f"{n}.onnx").write_bytes(graph)
        (tmp_path / f"{n}.pkl").write_bytes(pickle.dumps({"X": rng.normal(size=(n, 3))}))
    for stem, out in run(tmp_path).items():
        points = pickle.loads((tmp_path / f"{stem}.pkl").read_bytes())["X"]
        assert out["prediction"].shape == (int(stem), 1)
        if len(points):
            true = model.predict(points)
            assert np.max(np.abs(out["prediction"][:, 0] - true)) <= 1e-12 * np.std(Z[:, 0])
    grown = subprocess.run(
        [sys.executable, "-c", GROWTH, tmp_path / "1.onnx"], capture_output=True, text=True
    )
    # All kernel values at once are 320 MB; units are kB.
    assert int(grown.stdout) < 100_000, grown.stderr
