"""Support vector machines of this library and of others behind one face, and the limit of all.

A contender has ``prepare`` (not timed), ``fit``, ``predict`` and ``learned``. `Server` is one in a
process of its own, which times itself.
"""

import importlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from threadpoolctl import ThreadpoolController

from benchmarks.store import forget_peak, memory, version
from data import Sample, draw

Array = NDArray[Any]

# Memory for kernel values in MB, enough for no contender to be short of it on most problems, and
# scikit-learn's default tolerance.
COMMON = {"cache_size": 2000, "tol": 1e-3}


@dataclass(frozen=True)
class Problem:
    """One machine with a Gaussian kernel on one data set.

    ``scaling`` and ``official`` are those of :func:`data.draw`. ``contenders``, if any are given,
    are the only ones that take part. ``group`` is what a geometric mean is taken over. ``threads``
    is what every contender may use.
    """

    machine: str
    data: str
    n: int
    n_test: int
    gamma: float
    settings: dict[str, float] = field(default_factory=dict)
    scaling: str = "standard"
    official: bool = False
    source: str = ""
    label: str = ""
    contenders: tuple[str, ...] = ()
    group: str = "main"
    threads: int = 1

    def parameters(self) -> dict[str, Any]:
        return {**self.settings, **COMMON, "gamma": self.gamma}

    def case(self) -> dict[str, Any]:
        """Return what differs from the defaults, as a result is kept with it."""
        known = Problem("", "", 0, 0, 0.0)
        found = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {k: v for k, v in found.items() if v and v != getattr(known, k)}

    def family(self) -> tuple[Any, ...]:
        """Return what two samples of one problem, a small and a large one, have in common."""
        return self.machine, self.data, self.gamma, str(self.settings), self.label

    def sample(self) -> Sample:
        return draw(self.data, self.n, self.n_test, scaling=self.scaling, official=self.official)


def problem_of(case: dict[str, Any]) -> Problem:
    return Problem(**{"n_test": 0, "contenders": ()} | case)


# Of the exponentials at hand NumPy's was fastest on float32 (0.57 ns a value on AVX-512, numexpr
# 4.5 ns), and 16 MB the fastest size of a block among 0.25 to 64 MB for 8, 54 and 784 features.
BLOCK_BYTES = 16 * 2**20


class Bare:
    """Evaluate ``K[:, support]`` at the price of a product of matrices and an exponential.

    The rows carry two more features, so that one product yields the exponent
    ``2 gamma x's - gamma |x|^2 - gamma |s|^2``. Threads work on row blocks of their own.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # To look for libraries takes milliseconds, longer than a small problem.
        self.libraries = ThreadpoolController()

    def prepare(self, problem: Problem, sample: Sample, given: dict[str, Any]) -> None:
        """Bring rows to float32 and the coefficients to columns; not timed."""
        support = np.asarray(given["support_"])
        self.coef = np.asarray(given["dual_coef_"], dtype=np.float32)
        self.parts = [slice(0, len(support))]
        if "classes_" in given and len(given["classes_"]) > 2:
            # Support vectors are ordered by class, and each class has columns of its own.
            counts = [np.count_nonzero(sample.y[support] == c) for c in given["classes_"]]
            self.parts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *counts]))]
        gamma = problem.gamma
        self.rows, self.rows_test = (_left(X) for X in (sample.X, sample.X_test))
        self.columns = _right(sample.X[support], gamma)

    def fit(self) -> None:
        self._blocks(self.rows, lambda K, rows: None)

    def predict(self) -> list[Array]:
        """Return the products with the coefficients, one for every part of the support."""
        out = [np.empty((len(self.rows_test), len(self.coef)), np.float32) for _ in self.parts]

        def multiply(K: Array, rows: slice) -> None:
            for target, part in zip(out, self.parts, strict=True):
                np.matmul(K[:, part], self.coef[:, part].T, out=target[rows])

        self._blocks(self.rows_test, multiply)
        return out

    def _blocks(self, X: Array, use: Callable[[Array, slice], None]) -> None:
        step = max(1, BLOCK_BYTES // (4 * max(1, self.columns.shape[1])))
        starts = range(0, len(X), step)

        def work(first: int) -> None:
            buffer = np.empty((min(step, len(X)), self.columns.shape[1]), np.float32)
            for start in starts[first :: self.threads]:
                rows = slice(start, min(start + step, len(X)))
                K = np.matmul(X[rows], self.columns, out=buffer[: rows.stop - start])
                use(np.exp(K, out=K), rows)

        if self.threads == 1:
            work(0)
            return
        with self.libraries.limit(limits=1), ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, range(self.threads)))


def _left(X: NDArray[np.float64]) -> Array:
    return np.column_stack([X, np.einsum("ij,ij->i", X, X), np.ones(len(X))]).astype(np.float32)


def _right(S: NDArray[np.float64], gamma: float) -> Array:
    squares = np.einsum("ij,ij->i", S, S)
    columns = np.column_stack([2 * gamma * S, np.full(len(S), -gamma), -gamma * squares])
    return np.ascontiguousarray(columns, dtype=np.float32).T


class Estimators:
    """A module of estimators in the manner of scikit-learn, and the floats it is given."""

    def __init__(self, module: str, dtype: type = np.float64, **extra: Any) -> None:
        self.module = importlib.import_module(module)
        self.dtype = dtype
        self.extra = extra

    def prepare(self, problem: Problem, sample: Sample, **changes: Any) -> None:
        self.X: Array = np.asarray(sample.X, self.dtype)
        self.X_test: Array = np.asarray(sample.X_test, self.dtype)
        self.y = sample.y
        parameters = problem.parameters() | self.extra | changes
        self.machine = getattr(self.module, problem.machine)(**parameters)

    def fit(self) -> None:
        self.machine.fit(self.X, self.y)

    def predict(self) -> Array:
        return np.asarray(self.machine.predict(self.X_test))

    def learned(self) -> dict[str, Any]:
        names = ("support_", "dual_coef_", "intercept_", "classes_")
        learned: dict[str, Any] = {
            name: np.asarray(getattr(self.machine, name))
            for name in names
            if hasattr(self.machine, name)
        }
        solution = getattr(self.machine, "solution_", None)
        if solution is not None:
            learned["certificate"] = {
                "dual": solution.dual,
                "relative_gap": solution.relative_gap,
                "status": solution.status.value,
            }
        return learned


def intelex(threads: int, dtype: type) -> Estimators:
    """Return scikit-learn-intelex, whose own thread pool does not read the environment."""
    importlib.import_module("daal4py").daalinit(threads)
    return Estimators("sklearnex.svm", dtype)


# LIBSVM's machines by number, and its letters for our words.
KINDS = ("SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR")
LETTERS = {"C": "c", "nu": "n", "epsilon": "p", "gamma": "g", "tol": "e", "cache_size": "m"}


class Libsvm:
    """LIBSVM through its own Python interface: only its training and predicting are timed."""

    def __init__(self) -> None:
        self.svm: Any = importlib.import_module("libsvm.svm")

    def prepare(self, problem: Problem, sample: Sample, **changes: Any) -> None:
        options = " ".join(
            f"-{LETTERS[name]} {value!r}"
            for name, value in (problem.parameters() | changes).items()
        )
        self.parameter = self.svm.svm_parameter(f"-q -s {KINDS.index(problem.machine)} {options}")
        self.problem = self._rows(sample.X, sample.y)
        self.test = self._rows(sample.X_test, sample.y_test)
        self.is_classifier, self.y = problem.machine.endswith("SVC"), sample.y

    def _rows(self, X: Array, y: Array) -> Any:
        return self.svm.svm_problem(y, scipy.sparse.csr_matrix(X))

    def fit(self) -> None:
        self.model = self.svm.toPyModel(self.svm.libsvm.svm_train(self.problem, self.parameter))

    def predict(self) -> Array:
        predict = self.svm.libsvm.svm_predict
        return np.array([predict(self.model, self.test.x[i]) for i in range(self.test.l)])

    def learned(self) -> dict[str, Any]:
        """Return attributes as scikit-learn orders and signs them."""
        model = self.model
        support = np.array(model.get_sv_indices()) - 1
        rows = range(max(1, model.nr_class - 1) if self.is_classifier else 1)
        coef = np.array([np.ctypeslib.as_array(model.sv_coef[k], (model.l,)) for k in rows])
        # The judge asks for coefficients alone.
        learned = {"support_": support, "dual_coef_": coef, "intercept_": np.full(1, np.nan)}
        if self.is_classifier:
            labels = np.array(model.get_labels(), dtype=float)
            learned |= sorted_by_class(support, coef, labels, self.y[support])
        return learned


def sorted_by_class(support: Array, coef: Array, labels: Array, y: Array) -> dict[str, Any]:
    """Return a vote's coefficients for classes in ascending order, from those in another order.

    A coefficient is positive for the first class of a pair, the second if there is no other pair.
    """
    classes = np.sort(labels)
    ordered = np.zeros_like(coef)
    for i, j in combinations(range(len(classes)), 2):
        p, q = (int(np.flatnonzero(labels == classes[k])[0]) for k in (i, j))
        for own, other, position, sign in ((p, q, j - 1, 1.0), (q, p, i, -1.0)):
            mine = y == labels[own]
            ordered[position, mine] = sign * np.abs(coef[other - (other > own), mine])
    order = np.argsort(y, kind="stable")
    return {
        "support_": support[order],
        "dual_coef_": (-ordered if len(classes) == 2 else ordered)[:, order],
        "intercept_": np.full(len(classes) * (len(classes) - 1) // 2, np.nan),
        "classes_": classes,
    }


class Thunder(Estimators):
    """ThunderSVM on the processor: classes in the order of appearance, a pool of its own."""

    def __init__(self, threads: int) -> None:
        super().__init__("thundersvm", n_jobs=threads)

    def learned(self) -> dict[str, Any]:
        learned = super().learned()
        if isinstance(self.machine, ClassifierMixin):
            support = learned["support_"]
            labels = self.y[np.sort(np.unique(self.y, return_index=True)[1])]
            learned |= sorted_by_class(support, learned["dual_coef_"], labels, self.y[support])
        return learned


# Name, distribution, and how it is made for a number of threads.
LIBRARIES: dict[str, tuple[str, Any]] = {
    "mercer": ("mercer", lambda threads: Estimators("mercer")),
    "scikit-learn": ("scikit-learn", lambda threads: Estimators("sklearn.svm")),
    "scikit-learn-intelex": (
        "scikit-learn-intelex",
        lambda threads: intelex(threads, np.float64),
    ),
    "scikit-learn-intelex float32": (
        "scikit-learn-intelex",
        lambda threads: intelex(threads, np.float32),
    ),
    "LIBSVM": ("libsvm-official", lambda threads: Libsvm()),
    "ThunderSVM": ("thundersvm-cpu", Thunder),
    "bare": ("numpy", Bare),
}


def installed(names: list[str]) -> list[str]:
    return [name for name in names if version(LIBRARIES[name][0])]


# Rows and cache sizes in MB of the fits before the measured ones: whatever compiles does it here.
WARM_UP = ((300, 200.0), (300, 0.2), (2_000, 2000.0))
# Short calls are repeated until they have taken so many seconds, at most so many times.
ENOUGH, AT_MOST = 0.5, 5


def timed(call: Callable[[], Any]) -> dict[str, float]:
    """Return medians of clock and processor over repeated calls, and the memory of the first."""
    forget_peak()
    held, peak = memory(), float("nan")
    marks = [mark()]
    while len(marks) == 1 or (marks[-1][0] - marks[0][0] < ENOUGH and len(marks) <= AT_MOST):
        call()
        if len(marks) == 1:
            peak = memory("VmHWM") - held
        marks.append(mark())
    wall, cpu = np.median(np.diff(marks, axis=0), axis=0).tolist()
    return {"wall": wall, "cpu": cpu, "held": held, "peak": peak}


def mark() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


class Server:
    """What a contender can be asked, in a process of its own."""

    def __init__(self, library: str, threads: int) -> None:
        # A problem that stops early shows in its violation; the warning would only clutter the run.
        warnings.simplefilter("ignore")
        self.library = LIBRARIES[library][1](threads)

    def load(self, problem: Problem, folder: str, given: dict[str, Any]) -> None:
        """Read the sample and warm up on a few rows of it; ``bare`` is given a support set."""
        self.problem, self.sample = problem, read(folder)
        if isinstance(self.library, Bare):
            self.library.prepare(problem, self.sample, given)
            return
        for n, cache_size in WARM_UP:
            few = Sample(*(part[:n] for part in self.sample))
            self.library.prepare(replace(problem, n=len(few.X)), few, cache_size=cache_size)
            self.library.fit()
            self.library.predict()
        self.library.prepare(problem, self.sample)

    def fit(self) -> dict[str, float]:
        found = timed(self.library.fit)
        found |= {"fit_wall": found.pop("wall"), "fit_cpu": found.pop("cpu")}
        return found

    def predict(self) -> dict[str, float]:
        answers: list[Any] = []
        timing = timed(lambda: answers.append(self.library.predict()))
        times = {"predict_wall": timing["wall"], "predict_cpu": timing["cpu"]}
        if not isinstance(self.library, Bare):
            times["score"] = score(self.problem, self.sample.y_test, answers[-1])
        return times

    def learned(self) -> dict[str, Any]:
        return dict(self.library.learned())

    def path(self, values: list[float]) -> dict[str, Any]:
        """Fit at the largest C from nothing, and then at all of them, each from the last."""
        machine, X, y = self.library.machine, self.library.X, self.library.y
        machine.set_params(C=values[-1], warm_start=False)
        begun = time.process_time()
        machine.fit(X, y)
        cold, learned = time.process_time() - begun, self.library.learned()
        # A new machine does not know the coefficients that a warm start would begin with.
        self.library.prepare(self.problem, self.sample, warm_start=True)
        machine = self.library.machine
        begun = time.process_time()
        for C in values:
            machine.set_params(C=C).fit(X, y)
        times = {"cold": cold, "path": time.process_time() - begun}
        return {"times": times, "cold": learned, "path": self.library.learned()}


@contextmanager
def written(sample: Sample) -> Iterator[str]:
    """Leave a sample where the contenders find it, drawn and scaled once for all of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, part in sample._asdict().items():
            np.save(Path(folder) / f"{name}.npy", part)
        yield folder


def read(folder: str) -> Sample:
    return Sample(*(np.load(Path(folder) / f"{name}.npy") for name in Sample._fields))


def score(problem: Problem, y: np.ndarray, prediction: np.ndarray) -> float:
    """Return accuracy, the share of variance explained, or the share of test points inside."""
    if problem.machine.endswith("SVC"):
        return float(np.mean(prediction == y))
    if problem.machine == "OneClassSVM":
        return float(np.mean(prediction > 0))
    return float(1.0 - np.sum((y - prediction) ** 2) / np.sum((y - y.mean()) ** 2))
