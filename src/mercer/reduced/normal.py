r"""The squared loss of a low-rank approximation: every weight of the loss from one pass.

.. math:: \min_{w, b} \tfrac12 |w|^2 + \tfrac{C}{2} \sum_i s_i (y_i - u_i'\theta)^2, \qquad
          u = (\phi, p), \quad \theta = (w, b)

needs of the rows no more than :math:`\sum s u u'`, :math:`\sum s u y` and :math:`\sum s y^2`. Off
the unpenalized columns an eigendecomposition of the first makes all C cost as little as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from mercer._typing import Array
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.reduced.base import MAX_DENSE_FEATURES
from mercer.reduced.normal_sums import Whole, folded, gather, left_out
from mercer.reduced.normal_system import System
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem

__all__ = ["Chosen", "NormalEquations", "choose_C"]

# Weights of the loss that are tried, in units of one over the mean weighted square of features: the
# ratio of signal to noise of a row, which does not depend on their number.
TRIED_WEIGHTS = np.geomspace(1e-4, 1e8, 97)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    r"""Normal equations: sums of one pass that solve the squared loss for every C and target.

    Criteria have a row for every C and a column for every problem; weights count as precisions.

    Parameters
    ----------
    problem : Problem
        Of the squared loss; its C is not read.
    G : (folds, systems, size, size) array
        Sums of products of features and free columns; one system if all problems weigh rows alike.
    g : (folds, size, k) array
        Sums of their products with targets.
    square, weight, n : (folds, k) arrays
        Sums of squared targets and of weights, and number of rows with weight.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 1.3.5 (fixed-size machines),
    lemma 3.4 and eq. (3.16) (every C from one eigendecomposition), sec. 5.2 (evidence);
    P. Craven and G. Wahba, *Smoothing noisy data with spline functions*, Numer. Math. 31 (1979).

    Examples
    --------
    >>> from mercer.data import as_source
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> from mercer.reduced.nystrom import NystromMap
    >>> from mercer.reduced.passes import Passes
    >>> from mercer.reduced.problem import Problem
    >>> from mercer.reduced.targets import Values
    >>> from mercer.regularizers.null_space import Constant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> phi = NystromMap(Gaussian(1.0), X[:30])
    >>> problem = Problem(phi, Constant(), Values(), Squared(), np.ones(1), 1)
    >>> passes = Passes(as_source(X, y))
    >>> equations = NormalEquations.gather(problem, passes)
    >>> Cs = np.geomspace(1e-3, 1e3, 50)
    >>> equations.gcv(Cs).shape, equations.leave_one_out(passes, Cs).shape, passes.count
    ((50, 1), (50, 1), 2)
    """

    problem: Problem
    G: Array
    g: Array
    square: Array
    weight: Array
    n: Array

    @classmethod
    def gather(cls, problem: Problem, passes: Passes, folds: int = 1) -> NormalEquations:
        """Make the pass.

        Parameters
        ----------
        problem : Problem
        passes : Passes
        folds : int, default=1
            Sum rows in so many parts, by their fingerprints, for cross-validation.
        """
        if not problem.loss.quadratic:
            raise ValueError(
                f"normal equations need the squared loss, not {problem.loss!r}; use Newton."
            )
        shared = problem if problem.map.r <= MAX_DENSE_FEATURES else Whole(problem)
        sums = passes("normal equations", gather, shared, {"folds": int(folds)})
        return cls(problem, **sums)

    @property
    def folds(self) -> int:
        """Number of parts that the rows were summed in."""
        return len(self.G)

    # Solutions -----------------------------------------------------------------------------------

    def _systems(self, rows: Any = slice(None)) -> list[tuple[System, slice]]:
        """Return the systems of some of the folds, with the problems that they are of."""
        G, g = self.G[rows].sum(axis=0), self.g[rows].sum(axis=0)
        square, r = self.square[rows].sum(axis=0), self.problem.map.r
        if len(G) == 1:
            return [(System(G[0], g, square, r), slice(None))]
        columns = [slice(j, j + 1) for j in range(self.problem.k)]
        return [(System(G[j], g[:, c], square[c], r), c) for j, c in enumerate(columns)]

    @cached_property
    def systems(self) -> list[tuple[System, slice]]:
        """The equations of all rows, with the problems that they are of."""
        return self._systems()

    def _each(self, of: Callable[[System], Array], C: ArrayLike) -> Array:
        """Return a quantity for every C and every problem, (*C.shape, k)."""
        C = np.asarray(C, dtype=np.float64)
        out = np.empty((C.size, self.problem.k))
        for system, columns in self.systems:
            values = of(system)
            out[:, columns] = values if values.ndim == 2 else values[:, None]
        return out.reshape(*C.shape, self.problem.k)

    def coefficients(self, C: ArrayLike) -> tuple[Array, Array]:
        """Return coefficients of features and of free columns.

        Parameters
        ----------
        C : float or (j,) array

        Returns
        -------
        W : (r, k) or (j, r, k) array
        b : (q, k) or (j, q, k) array
        """
        C = np.asarray(C, dtype=np.float64)
        theta = self._solve(self.systems, C.reshape(-1)).reshape(*C.shape, -1, self.problem.k)
        r = self.problem.map.r
        return theta[..., :r, :], theta[..., r:, :]

    def _solve(self, systems: list[tuple[System, slice]], C: Array) -> Array:
        """Return coefficients of features and free columns, (number of C, size, k)."""
        theta = np.empty((len(C), *self.g.shape[1:]))
        for system, columns in systems:
            theta[:, :, columns] = np.concatenate(system.coefficients(_positive(C)), axis=1)
        return theta

    def certificate(self, C: float) -> tuple[Array, Array]:
        """Return the objective and the duality gap of the coefficients with a C, (k,) each.

        No further pass is needed: slopes of the problem are sums that are known. What is left of
        them is rounding.

        Parameters
        ----------
        C : float
        """
        r = self.problem.map.r
        theta = np.vstack(self.coefficients(C))
        slopes = C * (self._product(self.G.sum(axis=0), theta) - self.g.sum(axis=0))
        slopes[:r] += theta[:r]
        free = np.abs(np.sum(theta[r:] * slopes[r:], axis=0))
        return self.objective(C), 0.5 * np.sum(slopes[:r] ** 2, axis=0) + free

    @staticmethod
    def _product(G: Array, theta: Array) -> Array:
        """Return sums times coefficients (..., size, k), each by the system of its problem."""
        if len(G) == 1:
            return np.asarray(G[0] @ theta)
        columns = np.moveaxis(theta, (-1, -2), (0, 1))
        product = (G @ columns.reshape(*columns.shape[:2], -1)).reshape(columns.shape)
        return np.moveaxis(product, (0, 1), (-1, -2))

    # What they tell ------------------------------------------------------------------------------

    def residual_sum(self, C: ArrayLike) -> Array:
        """Return weighted sums of squared residuals."""
        return self._each(lambda system: system.residual_sum(_positive(C)), C)

    def objective(self, C: ArrayLike) -> Array:
        """Return the least values of the problems."""
        norm = self._each(lambda system: system.square_norm(_positive(C)), C)
        weight = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(0.5 * (norm + weight * self.residual_sum(C)))

    def degrees_of_freedom(self, C: ArrayLike) -> Array:
        """Return traces of the smoothers."""
        return self._each(lambda system: system.degrees_of_freedom(_positive(C)), C)

    def gcv(self, C: ArrayLike) -> Array:
        r"""Return :math:`\frac{1}{n} \sum s r^2 / (1 - \operatorname{tr} S / n)^2`."""
        return np.asarray(self._ratio(C) / np.square(1.0 - self.degrees_of_freedom(C) / self._n))

    def mallows_cp(self, C: ArrayLike, noise_variance: ArrayLike) -> Array:
        r"""Return :math:`\frac1n \sum s r^2 + 2 \sigma^2 \operatorname{tr} S / n`.

        Parameters
        ----------
        C : float or (j,) array
        noise_variance : float or (k,) array
            Of rows with weight one.
        """
        penalty = 2.0 * np.asarray(noise_variance, dtype=np.float64)
        return self._ratio(C) + penalty * self.degrees_of_freedom(C) / self._n

    def aic(self, C: ArrayLike) -> Array:
        r"""Return Akaike's criterion for few rows (Hurvich, Simonoff and Tsai 1998).

        .. math:: \log \tfrac1n \sum s r^2 + 1 + \frac{2 (\operatorname{tr} S + 1)}
                  {n - \operatorname{tr} S - 2}
        """
        freedom = self.degrees_of_freedom(C)
        room = self._n - freedom - 2.0
        with np.errstate(divide="ignore"):
            value = np.log(self._ratio(C)) + 1.0 + 2.0 * (freedom + 1.0) / room
        return np.where(room > 0, value, np.inf)

    def bic(self, C: ArrayLike) -> Array:
        r"""Return :math:`\log \frac1n \sum s r^2 + \log(n) \operatorname{tr} S / n`."""
        with np.errstate(divide="ignore"):
            log = np.log(self._ratio(C))
        return np.asarray(log + np.log(self._n) * self.degrees_of_freedom(C) / self._n)

    def log_evidence(self, C: ArrayLike) -> Array:
        r"""Return the restricted log-likelihood of the Gaussian process behind the machine.

        Targets have covariance :math:`\tau (\Phi\Phi' + 1/c)` about any combination of the free
        columns, with the most likely :math:`\tau`, which is twice the objective over
        :math:`n - q`. A constant that depends on the weights of rows alone is left out.
        """
        C = np.asarray(C, dtype=np.float64)
        rank = self._each(lambda system: np.full(C.size, system.rank), C)
        log_det = self._each(lambda system: system.log_det(_positive(C)), C)
        m = self._n - rank
        with np.errstate(divide="ignore"):
            log = np.log(2 * np.pi * np.e * 2.0 * self.objective(C) / m) - np.log(C)[..., None]
        return np.asarray(-0.5 * (m * log + log_det))

    @property
    def _n(self) -> Array:
        return np.asarray(self.n.sum(axis=0))

    def _ratio(self, C: ArrayLike) -> Array:
        return self.residual_sum(C) / self._n

    # Rows left out -------------------------------------------------------------------------------

    def leave_one_out(self, passes: Passes, C: ArrayLike, loss: Loss | None = None) -> Array:
        r"""Return the mean loss of rows that were left out, one at a time, in one more pass.

        .. math:: y_i - f^{(-i)}(x_i) = \frac{y_i - f(x_i)}{1 - s_i u_i' (G + I/C)^{-1} u_i}

        Parameters
        ----------
        passes : Passes
        C : (j,) array
        loss : Loss, optional
            What an error costs; half its square by default.

        Returns
        -------
        (j, k) array
            Infinite where a row alone determines an unpenalized function.
        """
        C = _positive(C)
        loss = Squared() if loss is None else loss
        lift = self.problem.map.lift
        state = {
            "loss": loss.get_params(deep=False),
            "A": np.hstack([lift(system.vectors) for system, _ in self.systems]),
            "systems": [
                {
                    "across": system.back @ system.vectors,
                    "inverse": system.inverse,
                    "b": system.b,
                    "z": system.z,
                    "shrunk": system.shrunk(C),
                }
                for system, _ in self.systems
            ],
        }
        sums = passes("leave one out", left_out, (self.problem, loss), state)
        return np.asarray(sums["loss"] / self.weight.sum(axis=0))

    def without_folds(self, C: ArrayLike) -> Array:
        """Return coefficients of features and free columns of machines that miss a fold each.

        Parameters
        ----------
        C : (j,) array

        Returns
        -------
        (folds, j, size, k) array
        """
        C = _positive(C)
        if self.folds < 2:
            raise ValueError("cross-validation needs sums of at least two folds; gather these.")
        others = [[g for g in range(self.folds) if g != f] for f in range(self.folds)]
        return np.stack([self._solve(self._systems(rows), C) for rows in others])

    def cross_validate(
        self, C: ArrayLike, passes: Passes | None = None, loss: Loss | None = None
    ) -> Array:
        """Return the mean loss of folds that were left out, without refits.

        Parameters
        ----------
        C : (j,) array
        passes : Passes, optional
            Needed for a loss that is not the squared one, which takes one more pass.
        loss : Loss, optional
            What an error costs; half its square by default.

        Returns
        -------
        (j, k) array
        """
        found = self.without_folds(C)
        if loss is None or loss.quadratic:
            total = np.zeros((found.shape[1], self.problem.k))
            for f, theta in enumerate(found):
                bent = self._product(self.G[f], theta) - 2.0 * self.g[f]
                # Rounding can leave a sum of squares below zero.
                total += np.maximum(self.square[f] + np.sum(theta * bent, axis=1), 0.0)
            return np.asarray(0.5 * total / self.weight.sum(axis=0))
        if passes is None:
            raise ValueError("another loss than the squared one needs a pass: give passes.")
        columns = found.transpose(2, 0, 1, 3).reshape(found.shape[2], -1)
        r = self.problem.map.r
        state = {
            "loss": loss.get_params(deep=False),
            "A": self.problem.map.lift(columns[:r]),
            "b": columns[r:],
            "folds": self.folds,
        }
        sums = passes("cross-validation", folded, (self.problem, loss), state)
        return np.asarray(sums["loss"] / self.weight.sum(axis=0))

    # Choice --------------------------------------------------------------------------------------

    @property
    def Cs(self) -> Array:
        """Weights of the loss from almost none to interpolation, evenly on a logarithmic scale."""
        square = sum(float(np.sum(system.values)) for system, _ in self.systems)
        mean = square / (len(self.systems) * float(np.mean(self._n)))
        return TRIED_WEIGHTS / (mean or 1.0)

    def choose(
        self,
        criterion: str = "gcv",
        Cs: ArrayLike | None = None,
        *,
        passes: Passes | None = None,
        loss: Loss | None = None,
    ) -> Chosen:
        """Choose the C that is best for all problems together.

        Parameters
        ----------
        criterion : {"gcv", "aic", "bic", "evidence", "cv", "loo"}, default="gcv"
            What is to be least, summed over the problems; all but the last need no pass with the
            squared loss, and are minimized between the Cs as well where these are not given.
        Cs : (j,) array, optional
            Weights to choose among; :attr:`Cs` by default.
        passes : Passes, optional
            For "loo", and for "cv" of another loss.
        loss : Loss, optional
            What left-out rows cost; half the squared error by default.
        """
        curves: dict[str, Callable[[Array], Array]] = {
            "gcv": self.gcv,
            "aic": self.aic,
            "bic": self.bic,
            "evidence": lambda C: -self.log_evidence(C),
            "cv": lambda C: self.cross_validate(C, passes, loss),
        }
        if criterion not in {*curves, "loo"}:
            raise ValueError(f"criterion must be one of {[*curves, 'loo']}, got {criterion!r}.")
        tried = _positive(self.Cs if Cs is None else Cs)
        if criterion == "loo":
            if passes is None:
                raise ValueError("leaving one out takes a pass over the rows: give passes.")
            values = self.leave_one_out(passes, tried, loss).sum(axis=1)
        else:
            values = curves[criterion](tried).sum(axis=1)
        best = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        C, value = float(tried[best]), float(values[best])
        summed = criterion != "loo" and (loss is None or loss.quadratic)
        if Cs is None and summed and 0 < best < len(tried) - 1:
            curve = curves[criterion]
            found = minimize_scalar(
                lambda t: float(curve(np.array([np.exp(t)])).sum()),
                bounds=(float(np.log(tried[best - 1])), float(np.log(tried[best + 1]))),
                method="bounded",
                options={"xatol": 1e-3},
            )
            if found.fun < value:
                C, value = float(np.exp(found.x)), float(found.fun)
        W, b = self.coefficients(C)
        return Chosen(C, value, criterion, tried, values, W, b, self)


@dataclass(frozen=True, eq=False)
class Chosen:
    """A weight of the loss and the machine that it makes.

    Parameters
    ----------
    C : float
    value : float
        The criterion there.
    criterion : str
    Cs, values : (j,) arrays
        What was tried, and the criterion, summed over the problems.
    W, b : (r, k) and (q, k) arrays
        Coefficients.
    equations : NormalEquations
    """

    C: float
    value: float
    criterion: str
    Cs: Array
    values: Array
    W: Array
    b: Array
    equations: NormalEquations


def choose_C(
    problem: Problem,
    passes: Passes,
    criterion: str = "gcv",
    Cs: ArrayLike | None = None,
    *,
    folds: int = 5,
    loss: Loss | None = None,
) -> Chosen:
    """Choose the weight of the squared loss, and solve with it, in one pass or two.

    Parameters
    ----------
    problem : Problem
        Its C is not read.
    passes : Passes
    criterion : {"gcv", "aic", "bic", "evidence", "cv", "loo"}, default="gcv"
        As in :meth:`NormalEquations.choose`; "loo" takes the second pass.
    Cs : (j,) array, optional
        Weights to choose among.
    folds : int, default=5
        For "cv".
    loss : Loss, optional
        What left-out rows cost.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> from mercer.kernels import Gaussian
    >>> from mercer.reduced.nystrom import NystromMap
    >>> from mercer.reduced.passes import Passes
    >>> from mercer.reduced.problem import Problem
    >>> from mercer.reduced.targets import Values
    >>> from mercer.regularizers.null_space import Constant
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (500, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> phi = NystromMap(Gaussian(1.0), X[:30])
    >>> passes = Passes(as_source(X, y))
    >>> found = choose_C(Problem(phi, Constant(), Values(), Squared(), np.ones(1), 1), passes)
    >>> bool(1 < found.C < 1000), passes.count
    (True, 1)
    """
    equations = NormalEquations.gather(problem, passes, folds if criterion == "cv" else 1)
    return equations.choose(criterion, Cs, passes=passes, loss=loss)


def _positive(C: ArrayLike) -> Array:
    C = np.asarray(C, dtype=np.float64).reshape(-1)
    if not np.all(C > 0):
        raise ValueError("C must be positive.")
    return C
