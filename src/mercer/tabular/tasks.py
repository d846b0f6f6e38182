"""What is asked of a table: numbers or classes, and the machines that answer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mercer._typing import AnyArray, Array
from mercer.estimators.general import KernelLogisticRegression
from mercer.estimators.ls_svm import LSSVR
from mercer.gram.factor import cholesky, triangular_inverse
from mercer.kernels.base import Kernel
from mercer.machines.base import KernelMachine
from mercer.smoothing.left_out_classes import left_out_scores
from mercer.solvers import Direct

__all__ = [
    "Logistic",
    "SquaredSigns",
    "Squares",
    "Task",
    "TreeNumbers",
    "TreeVotes",
    "left_out_decisions",
    "signs",
    "soft_odds",
    "spread",
]


FOLDS = 5
# Log odds beyond which a sample that is left out is as good as certain.
CERTAIN = 30.0
# Curvatures are not smaller, so that they can be divided by.
LEAST = 1e-8
# Rows cubed, times classes, up to which these are one machine: a step of Newton's method takes as
# many multiplications, 0.2 seconds, where machines against the rest take a third of them and, with
# many rows, conjugate gradients.
COUPLED = 3e9
# Estimates of probabilities below this are not told apart.
SOFT = 0.1
# Votes that every class has beside those of the trees, in shares of their number: a third of three
# hundred trees does not tell smaller probabilities from none.
FREE_VOTES = 0.005


class Task(Protocol):
    """Machines for the targets of a sample."""

    Y: Array
    """Targets as numbers, (n, d)."""

    tuned: int
    """Rows by which scales are chosen at most: more cost more than they tell."""

    weights: Array
    """Weights of the samples, (n,)."""

    solver: Any
    """Solver of machines that rows are left out of."""

    def machine(self, kernel: Kernel) -> Any:
        """Return a machine with a kernel, not fitted."""

    def targets(self, rows: Any) -> AnyArray:
        """Return what the machine is fitted to."""

    def of(self, rows: Any) -> Task:
        """Return the task of some of the samples."""

    def folds(self, n: int, seed: int) -> NDArray[np.intp]:
        """Return to which of five folds each of the first n samples belongs."""

    def divisible(self, n: int) -> bool:
        """Return whether all machines can be fitted without any fold."""

    def left_out(self, machine: KernelMachine, Z: Array, rows: Any) -> Array:
        """Return what the machines without each sample say of it, (n, d)."""

    @staticmethod
    def says(machine: KernelMachine, Z: Array, d: int) -> Array:
        """Return what a machine says of the targets at points: numbers or log odds, (n, d)."""


class Squares:
    """Least squares.

    Parameters
    ----------
    Y : (n, d) array
        Targets.
    weights : (n,) array
        Weights of the samples.
    """

    tuned = 1000
    # Left-out predictions from the factorization that fits the machine.
    solver = Direct(precisions=True)

    def __init__(self, Y: Array, weights: Array) -> None:
        self.Y, self.weights = Y, weights

    def machine(self, kernel: Kernel) -> LSSVR:
        return LSSVR(kernel=kernel)

    def targets(self, rows: Any) -> AnyArray:
        Y = self.Y[rows]
        return np.asarray(Y[:, 0] if Y.shape[1] == 1 else Y)

    def of(self, rows: Any) -> Squares:
        return type(self)(self.Y[rows], self.weights[rows])

    def folds(self, n: int, seed: int) -> NDArray[np.intp]:
        return np.random.default_rng(seed).permutation(np.arange(n) % FOLDS)

    def divisible(self, n: int) -> bool:
        return n >= 2 * FOLDS

    def left_out(self, machine: KernelMachine, Z: Array, rows: Any) -> Array:
        return np.asarray(machine.loo_predictions_, dtype=np.float64).reshape(len(Z), -1)

    @staticmethod
    def says(machine: KernelMachine, Z: Array, d: int) -> Array:
        return np.asarray(machine.predict(Z), dtype=np.float64).reshape(len(Z), d)


class SquaredSigns(Squares):
    """Least squares of classes as plus and minus one."""

    def left_out(self, machine: KernelMachine, Z: Array, rows: Any) -> Array:
        return soft_odds(super().left_out(machine, Z, rows))

    @staticmethod
    def says(machine: KernelMachine, Z: Array, d: int) -> Array:
        return soft_odds(Squares.says(machine, Z, d))


class Logistic:
    """Logistic regression of classes: all at once, or each against the rest.

    Parameters
    ----------
    labels : (n,) array of int
        Numbers of the classes.
    k : int
        How many there are.
    weights : (n,) array
        Weights of the samples.
    coupled : bool, optional
        Whether more than two classes are one machine, under the softmax loss; by default where
        that does not take long.
    """

    solver = "auto"

    def __init__(
        self, labels: NDArray[np.intp], k: int, weights: Array, coupled: bool | None = None
    ) -> None:
        self.labels, self.k, self.weights = labels, k, weights
        self.coupled = k * float(len(labels)) ** 3 <= COUPLED if coupled is None else coupled
        self.Y = signs(labels, k)
        # Every class has factorizations of its own.
        self.tuned = 500 if k <= 3 else 400 if k <= 10 else 300

    def machine(self, kernel: Kernel) -> KernelLogisticRegression:
        how = "multinomial" if self.coupled and self.k > 2 else "ovr"
        return KernelLogisticRegression(kernel=kernel, multi_class=how)

    def targets(self, rows: Any) -> AnyArray:
        return np.asarray(self.labels[rows])

    def of(self, rows: Any) -> Logistic:
        return Logistic(self.labels[rows], self.k, self.weights[rows], self.coupled)

    def folds(self, n: int, seed: int) -> NDArray[np.intp]:
        # Every class is dealt to the folds in turn.
        order = np.random.default_rng(seed).permutation(n)
        order = order[np.argsort(self.labels[:n][order], kind="stable")]
        out = np.empty(n, dtype=np.intp)
        out[order] = np.arange(n) % FOLDS
        return out

    def divisible(self, n: int) -> bool:
        return int(np.min(np.bincount(self.labels[:n], minlength=self.k))) >= 2 * FOLDS

    def left_out(self, machine: KernelMachine, Z: Array, rows: Any) -> Array:
        K = np.asarray(machine.kernel_.symmetric(Z), dtype=np.float64)
        f = self.says(machine, Z, self.Y.shape[1])
        Y, s = self.Y[rows], self.weights[rows]
        if self.coupled and self.k > 2:
            scores = left_out_scores(K, f, self.labels[rows], float(machine.C_) * s)
            return np.clip(scores, -CERTAIN, CERTAIN)
        found = [
            left_out_decisions(K, f[:, k], Y[:, k], s, float(machine.C_)) for k in range(Y.shape[1])
        ]
        return np.column_stack(found)

    @staticmethod
    def says(machine: KernelMachine, Z: Array, d: int) -> Array:
        found = np.asarray(machine.decision_function(Z), dtype=np.float64).reshape(len(Z), -1)
        classes = machine.classes_
        if len(classes) == max(d, 2):
            return found
        # Classes that were not in the fold: nothing speaks for them.
        out = np.full((len(Z), d), -CERTAIN)
        out[:, classes] = found if found.shape[1] > 1 else np.hstack([-found, found])
        return out


class TreeNumbers:
    """What trees say of numbers, of points in float32 as forests compare them."""

    @staticmethod
    def says(machine: Any, Z: Array, d: int) -> Array:
        found = machine.predict(Z.astype(np.float32))
        return np.asarray(found, dtype=np.float64).reshape(len(Z), d)

    @staticmethod
    def out_of_bag(machine: Any, d: int) -> Array:
        """Return what the trees of a forest that were grown without each sample say of it."""
        return np.asarray(machine.oob_prediction_, dtype=np.float64).reshape(-1, d)


class TreeVotes:
    """Log odds of the probabilities that trees say of classes, of points in float32."""

    @staticmethod
    def says(machine: Any, Z: Array, d: int) -> Array:
        found = machine.predict_proba(Z.astype(np.float32))
        return _odds_of_votes(found, machine.classes_, d)

    @staticmethod
    def out_of_bag(machine: Any, d: int) -> Array:
        """Return what the trees of a forest that were grown without each sample say of it."""
        votes = np.asarray(machine.oob_decision_function_)
        known = np.isfinite(votes)
        return _odds_of_votes(np.where(known, votes, 1.0 / votes.shape[1]), machine.classes_, d)


def _odds_of_votes(votes: Any, classes: NDArray[np.intp], d: int) -> Array:
    """Return log odds from shares of votes, (n, d); classes that have none are unlikely."""
    shares = np.full((len(votes), max(d, 2)), FREE_VOTES)
    shares[:, classes] += votes
    odds: Array = np.log(shares)
    return odds if d > 1 else odds[:, 1:] - odds[:, :1]


def soft_odds(values: Array) -> Array:
    r"""Return log odds of classes from estimates of :math:`2 p - 1`, (n, d), which may be outside.

    .. math:: \log \bigl(\varepsilon \log (1 + e^{p / \varepsilon})\bigr)

    is near to :math:`\log p` for large p, and goes on as a line where p is not positive.
    """

    def logarithm(p: Array) -> Array:
        t = p / SOFT
        # Far below zero the inner logarithm is the exponential itself, and would vanish.
        inner = np.log(np.logaddexp(0.0, np.maximum(t, -CERTAIN)))
        return np.asarray(np.log(SOFT) + np.where(t < -CERTAIN, t, inner))

    odds = logarithm(0.5 * (1.0 + values))
    return odds if odds.shape[1] > 1 else odds - logarithm(0.5 * (1.0 - values))


def signs(labels: NDArray[np.intp], k: int) -> Array:
    """Return classes as columns of plus and minus one, one column for two classes."""
    if k == 2:
        return np.where(labels == 1, 1.0, -1.0)[:, None]
    return np.where(labels[:, None] == np.arange(k), 1.0, -1.0)


def spread(machine: KernelMachine, n: int) -> Array:
    """Return the coefficients of a machine in all n samples, (n, d)."""
    coefficients = np.atleast_2d(np.asarray(machine.dual_coef_, dtype=np.float64))
    out = np.zeros((n, len(coefficients)))
    out[machine.support_] = coefficients.T
    return out


def left_out_decisions(K: Array, f: Array, y: Array, s: Array, C: float) -> Array:
    r"""Return log odds that a logistic machine has without each sample, by one Newton step.

    The step is exact for the parabola that the machine's loss is close to. With the posterior
    variance :math:`v_i` of a value, curvatures :math:`W_i = s_i p_i (1 - p_i)` and slopes
    :math:`g_i = s_i (1[y_i = 1] - p_i)`,

    .. math:: f_i^{(-i)} = f_i - \frac{g_i v_i}{1 - W_i v_i}.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    f : (n,) array
        Log odds of the machine with all samples.
    y : (n,) array
        Labels +1 or -1.
    s : (n,) array
        Weights of the samples.
    C : float
        Weight of the loss.
    """
    live = np.flatnonzero(s > 0)
    p, s = expit(f[live]), s[live]
    W = np.maximum(s * p * (1.0 - p), LEAST)
    root = np.sqrt(C * W)
    # M = 1 + W^1/2 C K W^1/2, without what the constant takes from its inverse, is 1 - W v there.
    M = (K if len(live) == len(K) else K[np.ix_(live, live)]) * root
    M *= root[:, None]
    M[np.diag_indices(len(M))] += 1.0
    if not cholesky(M.T):
        raise ValueError("the kernel matrix is not positive semidefinite.")
    inverse = triangular_inverse(M.T)
    constant = inverse @ root
    free = np.einsum("ij,ij->j", inverse, inverse)
    free -= (inverse.T @ constant) ** 2 / float(constant @ constant)
    free = np.clip(free, 1e-12, 1.0)
    g = s * (0.5 * (y[live] + 1.0) - p)
    out = f.copy()
    out[live] -= g * (1.0 - free) / (W * free)
    return np.clip(out, -CERTAIN, CERTAIN)
