"""The contenders behind one face: ``prepare`` (not timed), ``fit``, ``predict``, ``learned``."""

import importlib
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from benchmarks.common.environment import version
from benchmarks.svm.bare import Bare
from benchmarks.svm.problems import Problem
from data import Sample

Array = NDArray[Any]


class Library(Protocol):
    """A contender that holds one problem at a time."""

    def prepare(self, problem: Problem, sample: Sample, **changes: Any) -> None: ...
    def fit(self) -> None: ...
    def predict(self) -> Array: ...
    def learned(self) -> dict[str, Any]: ...


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
