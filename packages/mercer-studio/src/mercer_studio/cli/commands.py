"""How good predictions are, in the measures that people ask for."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from mercer import data as sources
from mercer import datasets, io
from mercer._lazily import lazily
from mercer._optional import plugin
from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer._words import plural
from mercer.machines.folds import as_splitter
from mercer.preprocessing import Encoder, Imputer, Scaler
from mercer.preprocessing.leakage import leaks_of
from mercer.reduced import Nystrom
from mercer.tabular.automatic import Automatic
from mercer_studio.cli.models import CARD, LANDMARKS, Model, Question, Wishes, pick
from mercer_studio.cli.preparation import Plan
from mercer_studio.cli.tables import Memory, Read, column_of, read, writable
from mercer_studio.cli.telling import Result, Teller
from mercer_studio.cli.text import Refusal

MAIN = {"regression": "R2", "classification": "accuracy"}
"""The measure that machines are compared by."""


def of_numbers(y: NDArray[np.float64], f: NDArray[np.float64]) -> dict[str, float]:
    """Return measures of predicted numbers.

    Parameters
    ----------
    y, f : (n,) array
        Targets and predictions.

    Examples
    --------
    >>> of_numbers(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))["largest error"]
    1.0
    """
    return {
        "R2": float(metrics.r2_score(y, f)) if len(y) > 1 else np.nan,
        "RMSE": float(np.sqrt(np.mean((y - f) ** 2))),
        "mean absolute error": float(np.mean(np.abs(y - f))),
        "largest error": float(np.max(np.abs(y - f))),
        "RMSE of the mean": float(np.std(y)),
    }


def of_intervals(y: NDArray[np.float64], ends: NDArray[np.float64]) -> dict[str, float]:
    """Return how often intervals contain their targets, and how wide they are.

    Parameters
    ----------
    y : (n,) array
        Targets.
    ends : (n, 2) array
        Intervals.
    """
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return {
        "coverage of intervals": float(np.mean(inside)),
        "mean width of intervals": float(np.mean(ends[:, 1] - ends[:, 0])),
    }


def of_classes(
    y: AnyArray, f: AnyArray, P: NDArray[np.float64] | None, classes: AnyArray
) -> dict[str, float]:
    """Return measures of predicted classes.

    Parameters
    ----------
    y, f : (n,) array
        Classes and predictions.
    P : (n, k) array, optional
        Probabilities of the classes.
    classes : (k,) array
        The classes that the model knows.
    """
    common = np.unique(y, return_counts=True)[1].max() / len(y)
    recalls = [np.mean(f[y == one] == one) for one in np.unique(y)]
    found = {"accuracy": float(np.mean(y == f)), "balanced accuracy": float(np.mean(recalls))}
    known = np.isin(y, classes)
    if P is not None and known.all():
        at = np.searchsorted(classes, y)
        found["log loss"] = -float(np.mean(np.log(np.maximum(P[np.arange(len(y)), at], 1e-15))))
        if len(classes) == 2 and len(np.unique(y)) == 2:
            found["area under the ROC curve"] = float(metrics.roc_auc_score(at, P[:, 1]))
    found["accuracy of the most frequent class"] = float(common)
    return found


report_ = lazily("mercer_studio.reporting", "report")


def page_at(report: str | None, force: bool = False) -> Path | None:
    """Return where a page is to be written, refused before anything is fitted.

    Parameters
    ----------
    report : str, optional
        What was asked for.
    force : bool, default=False
        Whether a page that exists is overwritten.
    """
    if report is None:
        return None
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise Refusal(f"--report {report} must end in .html.")
    return writable(report, force)


def write_page(
    path: Path,
    model: Model,
    X: PointsLike,
    y: TargetsLike,
    teller: Teller,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
) -> None:
    """Write the page about a model, :func:`mercer_studio.report`.

    Parameters
    ----------
    path : Path
        Where to write.
    model : Model
        The model.
    X, y : DataFrame or csr_matrix, and array
        The sample that it was fitted to.
    teller : Teller
        Where to say it.
    X_test, y_test : the same, optional
        Rows that it has not seen.
    """
    with teller.working("writing the report"):
        page = report_(model.pipeline, X, y, X_test, y_test, target=model.card.get("target"))
        page.save(path)
    teller.say(f"report: {path}, {path.stat().st_size / 1e3:.0f} kB")


def sample_of(
    model: Model, path: str, data: str, given: str | None, memory: Memory
) -> tuple[PointsLike, AnyArray]:
    """Return the sample that a saved model was fitted to, recognized by its digest.

    A model keeps the digest and the bare name of the file, not the rows. A file of this name is
    looked for beside the model, beside the new rows and in this folder.

    Parameters
    ----------
    model : Model
        The model.
    path, data : str
        Its file, and the file of new rows.
    given : str, optional
        The file of the sample, if it was named.
    memory : Memory
        What may be taken.
    """
    digest, name = io.describe(path).data_sha256, model.card.get("data")
    # A file of a model may say anything; a fit keeps a bare name, which leads to no other folder.
    if not isinstance(name, str) or name != Path(name).name or "\\" in name:
        name = None
    if digest is None or "target" not in model.card:
        raise Refusal(f"{path} does not say which rows it was fitted to; report it in Python.")
    for place in [given] if given is not None else _beside(name, path, data):
        X, y = _with_targets(model, read(place, memory, features=model.card.get("features")))
        if io.digest(X, y) == digest:
            return X, y
    tried = f"{given} does not hold" if given is not None else "there is no file of"
    raise Refusal(
        f"{tried} the rows that {path} was fitted to{f', {name}' if name else ''}; give the file "
        "with --sample."
    )


def _with_targets(model: Model, table: Read) -> tuple[PointsLike, AnyArray]:
    """Return features and targets of the rows that have a target, as a fit takes them."""
    if table.frame is not None:
        there = model.has_target(table)
        table = Read(table.path, table.frame[there].reset_index(drop=True))
    return model.features(table), model.targets(table)


def _beside(name: str | None, *files: str) -> Iterator[str]:
    folders = dict.fromkeys([*(Path(file).parent for file in files), Path()])
    yield from (str(f / name) for f in folders if name is not None and (f / name).is_file())


SHIPPED = {
    "mpg": datasets.load_auto_mpg,
    "abalone": datasets.load_abalone,
    "concrete": datasets.load_concrete,
    "credit": datasets.load_german_credit,
    "haberman": datasets.load_haberman,
    "votes": datasets.load_house_votes,
}
"""Sets of the demonstration, by the word that asks for them."""

# Rows of a new model whose predictions must be finite before it is saved.
CHECKED_ROWS = 1000


def fit(
    data: str,
    target: str,
    output: str | None,
    wishes: Wishes,
    memory: Memory,
    teller: Teller,
    report: str | None = None,
    force: bool = False,
    **how: Any,
) -> Result:
    """Fit a model to a file and save it.

    Parameters
    ----------
    data, target : str
        The file, and the column to predict.
    output : str, optional
        Where to save; the name of the data with ``.skops`` by default.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    report : str, optional
        Where to write a page about the model.
    force : bool, default=False
        Whether files that exist are overwritten.
    **how : object
        How the file is read.
    """
    if report is not None and wishes.event is not None:
        raise Refusal(
            "--report describes numbers and classes, and --event makes the task survival."
        )
    page = page_at(report, force)
    path = place(output or f"{Path(data).stem.partition('.')[0]}.skops", data, force)
    table = read(data, memory, **how)
    if table.frame is not None:
        column_of(table.frame, target, table.path)
    _say_file(table, teller)
    question = Question.of(table, target, wishes, teller)
    teller.say(f"task: {question.task} of {target}, because {question.why}")
    _say_plan(question, wishes, memory, teller)
    with teller.working("fitting") as shown:
        machine = Model.tuned(question, wishes, memory, shown)
        model, picked = Model.fit(question, wishes, memory, machine)
        X = model.ready(question.X)
        model.predictions(safe_indexing(X, np.arange(min(question.X.shape[0], CHECKED_ROWS))))
    name = type(model.machine).__name__
    teller.say(f"machine: {name}, because {picked.why}")
    judged = _left_out(model)
    for key, value in judged.items():
        teller.say(f"{key}: {value:.4g}")
    for line in certificate(model.machine):
        teller.say(line)
    leaks = [] if question.plan is None or np.ndim(question.y) != 1 else leaks_of(X, question.y)
    for note in dict.fromkeys([*getattr(model.machine, "notes_", []), *leaks]):
        teller.note(note)
    model.card.update(judged=judged, data=Path(data).name)
    io.save(model.pipeline, path, data=(X, question.y))
    teller.say(f"saved: {path}, {path.stat().st_size / 1e3:.0f} kB")
    if page is not None:
        write_page(page, model, X, question.y, teller)
    return {
        "model": str(path),
        "machine": name,
        "why": picked.why,
        "task": question.task,
        "rows": len(question.y),
        "plan": model.card["plan"],
        "left_out": judged,
        **({} if page is None else {"report": str(page)}),
    }


def _say_file(table: Read, teller: Teller) -> None:
    n, p = table.shape
    teller.say(f"{table.path}: {plural(n, 'row')}, {plural(p, 'column')}")
    for note in table.notes:
        teller.note(note)


def place(output: str, data: str, force: bool = False) -> Path:
    """Return where to write, if nothing would be lost, or nothing but a model that may be.

    Parameters
    ----------
    output, data : str
        Where to write, and what is read.
    force : bool, default=False
        Whether a model that exists is overwritten.
    """
    path = Path(output)
    if path.is_file() and (path.resolve() == Path(data).resolve() or not zipfile.is_zipfile(path)):
        raise Refusal(f"{path} exists and is no model; give another --output.")
    return writable(output, force)


def _say_plan(question: Question, wishes: Wishes, memory: Memory, teller: Teller) -> None:
    if question.plan is None:
        teller.say(f"plan: {question.X.shape[1]} sparse features, divided by their largest value")
        return
    as_is = Model.plan(question, wishes, memory)[1].as_is
    for step in question.plan.steps(as_is):
        teller.say(f"plan: {step}")
    for column in question.plan.columns:
        if column.kind == "left out":
            teller.say(f"plan: {column.name} is left out, because {column.why}")


def _left_out(model: Model) -> dict[str, float]:
    """Return how well rows are predicted that the machine did not see, where it knows."""
    score = getattr(model.machine, "left_out_score_", None)
    if score is None:
        return {}
    word = "accuracy" if model.classifies else "R2"
    return {f"{word} of rows left out": float(score)}


def certificate(machine: object) -> list[str]:
    """Return how far a machine is from the optimum at most, in its own words.

    Parameters
    ----------
    machine : estimator
        Fitted.
    """
    inner = getattr(machine, "estimator_", machine)
    solution = getattr(inner, "solution_", None)
    return [] if solution is None else list(solution.summary())


def load(path: str, memory: Memory) -> Model:
    """Return a saved model.

    Parameters
    ----------
    path : str
        The file.
    memory : Memory
        What may be taken.
    """
    with _readable(path):
        return Model.read(io.load(path, max_bytes=memory.table))


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Turn whatever a damaged archive makes its reader say into a sentence."""
    try:
        yield
    except (Refusal, ValueError, OSError, ImportError, MemoryError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}, {error}"
        raise Refusal(f"{path} is damaged, or no model that mercer can read: {words}.") from error


def _features(model: Model, data: str, memory: Memory, how: dict[str, Any]) -> tuple[Read, Any]:
    table = read(data, memory, features=model.card.get("features"), **how)
    return table, model.features(table)


def evaluate(
    model: str,
    data: str,
    target: str | None,
    memory: Memory,
    teller: Teller,
    coverage: float | None = None,
    report: str | None = None,
    sample: str | None = None,
    force: bool = False,
    **how: Any,
) -> Result:
    """Compare predictions with the targets of a file.

    Parameters
    ----------
    model, data : str
        The files.
    target : str, optional
        The column of targets; that of the fit by default.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    coverage : float, optional
        Probability of intervals.
    report : str, optional
        Where to write a page about the model, with these rows as its test.
    sample : str, optional
        The file that the model was fitted to, for the page; looked for by default.
    force : bool, default=False
        Whether a page that exists is overwritten.
    **how : object
        How the file is read.
    """
    page = page_at(report, force)
    if sample is not None and page is None:
        raise Refusal("--sample is for --report.")
    loaded = load(model, memory)
    fitted = None if page is None else sample_of(loaded, model, data, sample, memory)
    table, X = _features(loaded, data, memory, how)
    y = loaded.targets(table, target)
    with teller.working("predicting"):
        found = _scored(loaded, X, y, coverage)
    seen = io.describe(model).data_sha256 == io.digest(X, y)
    if seen:
        teller.note("the model was fitted to these rows: new rows are predicted worse.")
    teller.table(["measure", "value"], list(found.items()))
    answer = {"model": model, "data": data, "rows": len(y), "scores": found}
    if page is None or fitted is None:
        return answer
    # Rows of the fit are no test of it.
    write_page(page, loaded, *fitted, teller, *(() if seen else (X, y)))
    return {**answer, "report": str(page)}


def _scored(
    model: Model, X: PointsLike, y: TargetsLike, coverage: float | None
) -> dict[str, float]:
    f = model.predictions(X)
    if model.classifies:
        if coverage is not None:
            raise Refusal("intervals are for numbers; the model predicts classes.")
        proba = getattr(model.pipeline, "predict_proba", None)
        classes = model.pipeline.classes_
        if classes.dtype.kind != y.dtype.kind:
            y, f, classes = y.astype(str), f.astype(str), classes.astype(str)
        return of_classes(y, f, None if proba is None else proba(X), classes)
    with np.errstate(over="ignore", invalid="ignore"):
        found = of_numbers(y, f)
    # NaN is the R2 of one row.
    if np.isinf(list(found.values())).any():
        raise Refusal(
            f"errors of up to {found['largest error']:.0e} and targets of up to "
            f"{np.max(np.abs(y)):.0e} have squares beyond the range of floating point, so that "
            "there is no score; change the units of the target, and fit again."
        )
    coverage = coverage or model.card.get("coverage")
    return found if coverage is None else found | of_intervals(y, model.intervals(X, coverage))


def inspect(file: str, target: str | None, memory: Memory, teller: Teller, **how: Any) -> Result:
    """Say what is in a model or in a file of data.

    Parameters
    ----------
    file : str
        The file.
    target : str, optional
        The column to predict, if it is data.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    **how : object
        How the file is read.
    """
    if Path(file).suffix == ".skops" or (Path(file).is_file() and zipfile.is_zipfile(file)):
        if target is not None or any(how.values()):
            raise Refusal(f"{file} is a model; --target and options of reading are for data.")
        return _inspect_model(file, memory, teller)
    table = read(file, memory, **how)
    _say_file(table, teller)
    if table.frame is None:
        teller.say(f"sparse: {table.matrix.nnz} numbers are not zero")
        return {"rows": table.shape[0], "columns": table.shape[1], "entries": int(table.matrix.nnz)}
    plan = Plan.of(table, target)
    if target is None:
        for note in plan.notes:
            teller.note(note)
    teller.table(
        ["column", "taken for", "missing", "distinct", ""],
        [[c.name, c.kind, c.missing, c.distinct, c.why] for c in plan.columns],
    )
    found = {"rows": table.shape[0], "columns": table.shape[1], "plan": plan.described()}
    if target is not None:
        question = Question.of(table, target, Wishes(), teller)
        teller.say(f"task: {question.task} of {target}, because {question.why}")
        found["task"] = question.task
    return found


def _inspect_model(path: str, memory: Memory, teller: Teller) -> Result:
    model = load(path, memory)
    file = io.describe(path)
    card, name = model.card, type(model.machine).__name__
    teller.say(f"{path}: {name}, saved by mercer {file.versions.get('mercer')}")
    if card:
        teller.say(f"{card.get('task')} of {card.get('target')}, fitted to {card.get('rows')} rows")
    for step in card.get("steps") or ():
        teller.say(f"plan: {step}")
    for line in certificate(model.machine):
        teller.say(line)
    found = {
        "machine": name,
        "versions": file.versions,
        "data_sha256": file.data_sha256,
        **{key: card.get(key) for key in ("target", "task", "rows", "plan", "steps", "judged")},
    }
    if hasattr(model.machine, "explain"):
        said = model.machine.explain()
        teller.say("")
        teller.say(str(said))
        found["relevance"] = dict(said.columns)
    return found


def compare(
    data: str,
    target: str,
    machines: Sequence[str],
    folds: int,
    wishes: Wishes,
    memory: Memory,
    teller: Teller,
    **how: Any,
) -> Result:
    """Compare machines by cross-validation on the same folds.

    Parameters
    ----------
    data, target : str
        The file, and the column to predict.
    machines : sequence of str
        Names; a few usual ones by default.
    folds : int
        Parts of the rows, each of which is left out once.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    **how : object
        How the file is read.
    """
    table = read(data, memory, **how)
    question = Question.of(table, target, wishes, teller)
    teller.say(f"{data}: {question.task} of {target}, {len(question.y)} rows in {folds} folds")
    if question.task not in MAIN:
        raise Refusal(f"machines for {question.task} are compared in Python, see mercer.inspect.")
    names = list(machines) or _usual(question)
    splits = list(_splitter(question, folds).split(question.X, question.y))
    measure = MAIN[question.task]
    scores = {"constant": [_constant(question, a, b)[measure] for a, b in splits]}
    for name in names:
        asked = replace(wishes, machine=name)
        with teller.working(name) as shown:
            values = []
            for train, test in splits:
                rows = _rows(question, train)
                machine = Model.tuned(rows, asked, memory, shown)
                model, _ = Model.fit(rows, asked, memory, machine)
                inner = _rows(question, test)
                values.append(_scored(model, model.ready(inner.X), inner.y, None)[measure])
                shown.say(f"{measure} {values[-1]:.4g}")
        scores[name] = values
    best = sorted(scores, key=lambda name: -np.mean(scores[name]))
    error = {name: float(np.std(v, ddof=1) / np.sqrt(folds)) for name, v in scores.items()}
    teller.table(
        ["machine", measure, "standard error"],
        [[name, float(np.mean(scores[name])), error[name]] for name in best],
    )
    return {
        "measure": measure,
        "best": best[0],
        "scores": {name: {"folds": scores[name], "mean": np.mean(scores[name])} for name in best},
    }


def _usual(question: Question) -> list[str]:
    sure = question.plan is not None
    if question.task == "regression":
        return [*(["AutoRegressor"] if sure else []), "LSSVRCV", "SVR"]
    return [*(["AutoClassifier"] if sure else []), "KernelLogisticRegression", "SVC"]


def _splitter(question: Question, folds: int) -> Any:
    if folds > len(question.y) // 5:
        raise Refusal(f"{plural(len(question.y), 'row')} are too few for {folds} folds.")
    classes = question.task == "classification"
    if classes:
        rare = int(np.unique(question.y, return_counts=True)[1].min())
        if rare < folds:
            raise Refusal(f"a class has {plural(rare, 'row')}, too few for {folds} folds.")
    return as_splitter(folds, question.y, classifier=classes)


def _rows(question: Question, rows: Any) -> Question:
    X = question.X.iloc[rows].reset_index(drop=True) if question.plan else question.X[rows]
    return replace(question, X=X, y=question.y[rows])


def _constant(question: Question, train: Any, test: Any) -> dict[str, float]:
    classes = question.task == "classification"
    machine = DummyClassifier() if classes else DummyRegressor()
    nothing = np.zeros((len(question.y), 1))
    f = machine.fit(nothing[train], question.y[train]).predict(nothing[test])
    y = question.y[test]
    return of_classes(y, f, None, machine.classes_) if classes else of_numbers(y, f)


def export(
    model: str, output: str, float32: bool, memory: Memory, teller: Teller, force: bool = False
) -> Result:
    """Write a model as a graph of ONNX, one input a column.

    Parameters
    ----------
    model, output : str
        The files; the output ends in ``.onnx``.
    float32 : bool
        Whether the graph computes in single precision.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    force : bool, default=False
        Whether a file that exists is overwritten.
    """
    if Path(output).suffix != ".onnx":
        raise Refusal(f"{output} must end in .onnx.")
    where = writable(output, force)
    loaded, precision = load(model, memory), "float32" if float32 else "float64"
    kinds = loaded.card.get("columns")
    if loaded.card.get("crowded") and not isinstance(loaded.machine, Automatic):
        raise Refusal(
            f"{model} has columns of many categories, which no converter groups for "
            f"{type(loaded.machine).__name__}; leave the choice of the machine to mercer."
        )
    inputs = plugin("column_types").column_types(kinds, precision) if kinds else None
    with teller.working("converting"):
        graph = io.to_onnx(loaded.pipeline, precision=precision, initial_types=inputs)
    where.write_bytes(graph.SerializeToString())
    outputs = [one.name for one in graph.graph.output]
    teller.say(f"saved: {output}, {where.stat().st_size / 1e3:.0f} kB, {precision}")
    teller.say(f"inputs: {', '.join(one.name for one in graph.graph.input)}")
    if kinds and "date" in kinds.values():
        named = [name for name, kind in kinds.items() if kind == "date"]
        teller.note(f"days since 1970-01-01 in float64 go in for {', '.join(named)}.")
    teller.say(f"outputs: {', '.join(outputs)}")
    return {"output": output, "precision": precision, "outputs": outputs}


def demo(name: str, folder: str, run: Any, teller: Teller, force: bool = False) -> Result:
    """Write a real set to files, and show the commands on it.

    Parameters
    ----------
    name : str
        The set.
    folder : str
        Where to write.
    run : callable
        Runs a command, and returns what it says if it is to be JSON.
    teller : Teller
        Where to say it.
    force : bool, default=False
        Whether files that exist are overwritten.
    """
    bunch = SHIPPED[name](as_frame=True)
    home = Path(folder)
    if not home.is_dir():
        raise Refusal(f"there is no folder {folder}.")
    order = np.random.default_rng(0).permutation(len(bunch.frame))
    held = len(order) // 5
    files = {"": order[held:], "-new": order[:held]}
    for end in (".csv", "-new.csv", ".skops", "-predicted.csv"):
        writable(str(home / f"{name}{end}"), force)
    written = []
    for end, rows in files.items():
        path = home / f"{name}{end}.csv"
        bunch.frame.iloc[np.sort(rows)].to_csv(path, index=False)
        written.append(str(path))
    data, new = written
    model = str(home / f"{name}.skops")
    steps = [
        ["inspect", data, "--target", bunch.target_name],
        ["fit", data, "--target", bunch.target_name, "--output", model, "--tune", "3s"],
        ["evaluate", model, new],
        ["predict", model, new, "--output", str(home / f"{name}-predicted.csv")],
    ]
    if force:
        steps[1].append("--force")
        steps[3].append("--force")
    results = []
    for step in steps:
        teller.say(f"\n$ mercer {' '.join(step)}")
        results.append(run(step, teller.as_json))
    return {"files": written, "model": model, "commands": steps, "results": results}


# Rows that show what the target is.
TASK_ROWS = 10_000


def fit_on_cluster(
    data: str,
    target: str,
    output: str | None,
    wishes: Wishes,
    memory: Memory,
    teller: Teller,
    *,
    address: str,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    force: bool = False,
) -> Result:
    """Fit a model where a Dask cluster reads the rows, and save it here.

    Parameters
    ----------
    data, target : str
        Files, which all workers see under this name, and the column to predict.
    output : str, optional
        Where to save; the name of the data with ``.skops`` by default.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken here; workers have limits of their own.
    teller : Teller
        Where to say it.
    address : str
        Of the scheduler.
    format, delimiter, encoding : str, optional
        How the files are read.
    comment : str, optional
        Refused: workers read files line by line.
    force : bool, default=False
        Whether a model that exists is overwritten.
    """
    refused = {
        "--tune": wishes.seconds,
        "--intervals": wishes.coverage,
        "--monotone": wishes.monotone,
        "--categorical": wishes.categorical,
        "--event": wishes.event,
        "--missing": wishes.gaps,
        "--comment": comment,
    }
    if asked := [name for name, value in refused.items() if value]:
        raise Refusal(f"{', '.join(asked)} cannot be had together with --cluster.")
    path = place(output or f"{Path(data).stem.partition('.')[0]}.skops", data, force)
    kind = {"tsv": "csv", "feather": "arrow"}.get(format or "", format)
    where = str(Path(data).absolute()) if "://" not in data else data
    how: dict[str, Any] = {"format": kind, "delimiter": delimiter, "encoding": encoding}
    with plugin("dask").connected(address):
        names = sources.open(where, **how).feature_names or []
        features = [name for name in names if name not in (target, *wishes.drop)]
        source = sources.open(where, target, features, **how)
        y = np.asarray(next(iter(source.blocks(TASK_ROWS))).y)
        few = y.dtype.kind not in "iufb" or len(np.unique(y)) <= 2
        task = wishes.task or ("classification" if few else "regression")
        teller.say(f"task: {task} of {target}")
        name = wishes.machine or ("LSSVR" if task == "regression" else "KernelLogisticRegression")
        picked = pick(name, task, 0, memory, settings=wishes.settings)
        machine = picked.machine
        settings = machine.get_params(deep=False)
        if "approximation" not in settings:
            raise Refusal(f"{name} has no low-rank approximation; LSSVR, SVC and others have.")
        if settings["approximation"] is None:
            machine.set_params(approximation=Nystrom(LANDMARKS, memory_limit=int(memory.free / 2)))
        if settings.get("C") == 1.0 and "C" not in wishes.settings:
            machine.set_params(C="auto")
        steps = [("impute", Imputer()), ("encode", Encoder()), ("scale", Scaler())]
        pipeline = Pipeline([*steps, ("machine", machine)])
        teller.say("plan: gaps are filled, categories get a column each, all columns are scaled")
        with teller.working("fitting on the cluster"):
            pipeline.fit(source)
    rows = int(source.n_rows or 0)
    words = set(pipeline.named_steps["encode"].columns_)
    kinds = {name: "category" if j in words else "number" for j, name in enumerate(features)}
    card = {"target": target, "task": task, "columns": kinds, "rows": rows, "why": "cluster"}
    setattr(pipeline, CARD, card)
    for line in certificate(pipeline[-1]):
        teller.say(line)
    io.save(pipeline, path)
    teller.say(f"saved: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return {"model": str(path), "machine": name, "task": task, "rows": rows}
