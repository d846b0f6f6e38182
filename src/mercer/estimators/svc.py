"""Support vector classification: declarations of the problem of one pair of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._settings import KW_ONLY, settings
from mercer._typing import AnyArray, Array, Function, Seed
from mercer.gram.base import Gram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.machines.classifier import refuse_one_class
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.one_vs_one import PairwiseClassifier
from mercer.machines.subproblems import Coefficients, Rows, Sample, SolvedSubproblem, Subproblem
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import (
    NO_MARGIN,
    margin_costs,
    nu_classification,
    nu_classification_back,
    nu_classifications_back,
)
from mercer.reduced.problem import Codes, VariableMargin
from mercer.reduced.solve import Reduced
from mercer.solvers import Solution
from mercer.solvers.small import RiskBatch, SolutionBatch

__all__ = ["SVC", "NuSVC"]

# One for all pairs of classes: thousands of equal ones take their time to be made and compared.
HINGE = Hinge()


@settings
class SVC(PairwiseClassifier):
    r"""Support vector classification, a drop-in replacement for scikit-learn's.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i (f(x_i) + b))

    Several classes are decided by a vote of one machine per pair.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty. "auto" chooses it: a least-squares machine on
        at most 500 samples tells the C with the lowest leave-one-out error, which is rescaled to
        this loss by its mean curvature at those errors. Costs about as much as a fit. ``inf`` asks
        for a hard margin and is 1e10 (``C_`` says so); any finite C is used as it is, with a
        warning where double precision cannot tell how good the answer is.
    kernel : str, Kernel or callable, default="rbf"
        Reproducing kernel of the penalty: ``"linear"``, ``"poly"``, ``"rbf"``, ``"sigmoid"``,
        ``"precomputed"``, another name of :doc:`/how-to/choose-a-kernel` such as ``"matern"`` or
        ``"thin_plate"``, a function of two samples, or a :class:`~mercer.kernels.Kernel`, whose
        parameters are reached as ``kernel__length_scale``.
    degree, gamma, coef0 : int, {"scale", "auto", "median", "tuned"} or float, float
        Parameters of the named kernels, as in scikit-learn. The width of ``gamma="median"`` is the
        median distance of two samples; ``"tuned"`` tries five widths around it and keeps the one
        with the lowest leave-one-out error of a least-squares machine on at most 500 samples.
    shrinking : bool, default=True
        Without effect, and there for scikit-learn's signature: samples that rest on their bounds
        are always left aside.
    probability : bool, default="deprecated"
        As in scikit-learn 1.9: deprecated. True fits Platt's sigmoids to decision values of five
        folds, which share the kernel matrix of the fit where that is in memory; elsewhere it
        composes scikit-learn's ``CalibratedClassifierCV``.
    tol : float, default=1e-3
        Largest violation of an optimality condition, in units of the decision function.
    cache_size : float, default=200
        Memory for kernel values, in MB.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    verbose : bool or int, default=False
        Show a line with the gap falling.
    max_iter : int, default=-1
        Largest number of solver iterations a pair, -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of ``decision_function`` for more than two classes: classes or pairs.
    break_ties : bool, default=False
        Decide tied votes by the decision values.
    random_state : int or RandomState, optional
        Accepted for compatibility; the fit is deterministic.
    null_space : NullSpace, optional
        Unpenalized functions beside the penalized one, ``Polynomial(1) + Columns(["trend"])``; an
        intercept by default. What a conditionally positive definite kernel needs is added.
    max_time : float, optional
        Largest number of seconds in the solver, a pair; the best machine so far is kept, with a
        warning.
    gram : {"auto", "dense", "sparse", "tiled"} or callable, default="auto"
        How the kernel matrix is held; a callable maps ``(kernel, X)`` to a Gram.
    solver : str or Solver, default="auto"
        How the functional is minimized; a Solver brings its own tolerance and budget. ``"auto"``
        solves a linear kernel over the data, without a kernel matrix, where that is faster.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the sample has the same size.
        Kernel rows of the last fit, up to `cache_size`, and a copy of its inputs are kept for the
        next one, until the machine is deleted or fitted without.
    standardize : bool, default=False
        Divide the features by their standard deviations over the sample, without centring: kernels
        with length scales take these as ``kernel_.length_scale``. Lengths and gammas that are given
        are then in standard deviations.
    approximation : Approximation, Local, "auto" or None
        Fit a low-rank approximation of the machine, by passes over blocks of rows, instead of a
        function for every row: ``Nystrom(2000)`` (or the number 2000, or
        "nystrom"), ``RandomFeatures(2000)`` ("random_features"), or an exact machine in each part
        of the sample, :class:`~mercer.local.Local` ("local"). "auto" chooses between
        these and the exact machine by what a pilot measures on parts of the sample;
        ``approximation_`` is the choice and ``approximation_reason_`` says why. Rows that come in
        blocks (:mod:`mercer.data`, Dask) are always approximated, by ``Nystrom()`` unless told
        otherwise. `cache_size`, `gram`, `solver` and `warm_start` apply to fits without an
        approximation.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn.
    C_ : float
        The weight that was used.
    feature_scales_ : ndarray of shape (n_features,)
        What the features were divided by, if they were.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC().fit(X, y)
    >>> round(machine.score(X, y), 2)
    0.97
    >>> machine.solution_.gap < 1e-2
    True
    """

    _: KW_ONLY
    C: float | str = 1.0
    kernel: Kernel | str | Function = "rbf"
    shrinking: bool = True
    probability: bool | str = "deprecated"
    random_state: Seed = None

    def _loss(self, rows: Rows | None = None) -> Loss:
        return HINGE

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> Subproblem:
        refuse_one_class(y[c > 0])
        return super()._problem(K, y, c, B)

    def _parts(
        self, K: Gram, y: Array, c: Array, rows: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> RiskBatch:
        weighed = c > 0
        live = np.add.reduceat(y * weighed, ends[:-1])
        if (np.abs(live) == np.add.reduceat(weighed, ends[:-1], dtype=np.intp)).any():
            refuse_one_class(y[:0])
        cuts = np.zeros((len(ends) - 1, 2), dtype=np.intp)
        cuts[:, 1] = ends[1:] - ends[:-1]
        terms = HINGE.weigh(y, c)
        return RiskBatch(K, rows, ends, cuts, np.zeros((len(cuts), 1)), HINGE, terms, c)


@settings
class NuSVC(PairwiseClassifier):
    r"""Nu-support vector classification: the width of the margin is chosen by the data.

    .. math::

        \min_{f, \rho} \tfrac12 \|f\|^2 + \sum_i s_i \bigl(\max(0, \rho - y_i (f(x_i) + b))
        - \nu \rho\bigr)

    The fitted function is divided by :math:`\rho`, so that its margin is one.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of margin errors and lower bound on the fraction of support
        vectors, in (0, 1].
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    class_weight : dict or "balanced", optional
        Factors of the samples' weights by class, which scikit-learn's class of this name ignores;
        "balanced" makes every ``nu`` feasible.
    decision_function_shape, break_ties, random_state :
        As in :class:`SVC`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVC`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVC`: the low-rank approximation of the machine.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NuSVC(nu=0.2).fit(X, y).score(X, y), 2)
    0.99
    """

    _: KW_ONLY
    nu: float = 0.5
    kernel: Kernel | str | Function = "rbf"
    shrinking: bool = True
    probability: bool | str = "deprecated"
    random_state: Seed = None

    _direct = False

    def _weight(self) -> float:
        return 1.0

    def _loss(self, rows: Rows | None = None) -> Loss:
        return NO_MARGIN

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> Subproblem:
        return Subproblem(
            "",
            nu_classification(K, y, c, self.nu, B, constant_column(self.null_space_names_)),
            self._read,
        )

    def _read(self, solution: Solution) -> Coefficients:
        machine = nu_classification_back(
            solution.a, solution.b, constant_column(self.null_space_names_)
        )
        return Coefficients(machine.a, machine.b)

    def _parts(
        self, K: Gram, y: Array, c: Array, rows: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> RiskBatch:
        begin = ends[:-1]
        cuts = np.zeros((len(begin), 3), dtype=np.intp)
        cuts[:, 1], cuts[:, 2] = np.add.reduceat(y > 0, begin, dtype=np.intp), ends[1:] - begin
        d, terms = margin_costs(y, c, self.nu, begin), NO_MARGIN.weigh(y, c)
        return RiskBatch(K, rows, ends, cuts, d, NO_MARGIN, terms, c)

    def _read_parts(self, found: SolutionBatch) -> tuple[Array, Array]:
        return nu_classifications_back(found.a, found.b, found.parts.sizes)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        problem = super()._low_rank_problem(rows, labels)
        one = constant_column(self.null_space_names_)
        assert isinstance(problem.targets, Codes)
        return replace(problem, width=VariableMargin(self.nu, one, problem.targets))

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        read = [self._read(self._of_pair(one.solution, k)) for k, one in enumerate(solved)]
        solved = [
            SolvedSubproblem(one.solution, *own) for one, own in zip(solved, read, strict=True)
        ]
        super()._assemble_reduced(found, sample, solved)

    def _of_pair(self, solution: Solution, k: int) -> Solution:
        """Return the solution of a pair; of several classes, the last one's column is the first."""
        if len(self.classes_) == 2 or constant_column(self.null_space_names_) is None:
            return solution
        (i, j), n_classes = self._class_pairs()[k], len(self.classes_)
        sides, shared = np.split(solution.b, [n_classes])
        return replace(solution, b=np.concatenate([sides[[-1 - i, -1 - j]], shared]))

    def _multiples(self) -> Any:
        if self._voting and len(self.classes_) > 2:
            raise AttributeError("norms of several pairs are not kept with an approximation.")
        columns = self.solution_.b.reshape(len(self._class_pairs()), -1)
        widths = [
            nu_classification_back(np.zeros(0), b, constant_column(self.null_space_names_)).width
            for b in columns
        ]
        return np.array([1.0 / width if width > 0 else 1.0 for width in widths])
