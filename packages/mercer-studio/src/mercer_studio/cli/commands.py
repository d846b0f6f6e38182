"""What the commands do, one function each."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from mercer import datasets, io
from mercer._optional import plugin
from mercer._sklearn import safe_indexing
from mercer._typing import PointsLike, TargetsLike
from mercer._words import plural
from mercer.machines.folds import as_splitter
from mercer.preprocessing.leakage import leaks_of
from mercer.tabular.automatic import Automatic
from mercer_studio.cli.memory import Memory
from mercer_studio.cli.models import Model, Question, Wishes
from mercer_studio.cli.preparation import Plan
from mercer_studio.cli.refusals import Refusal
from mercer_studio.cli.reports import page_at, sample_of, write_page
from mercer_studio.cli.scores import MAIN, of_classes, of_intervals, of_numbers
from mercer_studio.cli.tables import Read, column_of, read
from mercer_studio.cli.telling import Result, Teller
from mercer_studio.cli.writing import writable

__all__ = [
    "certificate",
    "compare",
    "demo",
    "evaluate",
    "export",
    "fit",
    "inspect",
    "load",
    "place",
]

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
            "--report describes numbers and classes; of times 'mercer studio' writes one."
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
                shown.last = f"{measure} {values[-1]:.4g}"
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
