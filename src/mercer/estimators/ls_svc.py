"""Least-squares support vector classification, several classes by codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions
from mercer._typing import Array, Constraints, Function, PointsLike, Seed, TargetsLike
from mercer.gram.indexed import Indexed
from mercer.gram.remembered import FactorizedGram
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.machines.calibration import agreeing, coupled
from mercer.machines.classifier import Classifier, chosen
from mercer.machines.code_report import CodeReport
from mercer.machines.codes import (
    CODES,
    DECODINGS,
    check_decoding,
    code_book,
    decode,
)
from mercer.machines.evaluating import expand
from mercer.machines.expansion import store
from mercer.machines.fitted import FittedExpansion
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.low_rank import by_blocks
from mercer.machines.ls_report import kept, quick_listing
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.machines.unpenalized import intercept_of
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.solve import Reduced

__all__ = ["LSSVC"]


def _has_probabilities(machine: LSSVC) -> bool:
    if machine.approximation is not None or getattr(machine, "_report", True) is None:
        raise AttributeError(
            "probabilities come from samples left out, which an approximation does not keep; use "
            "CalibratedClassifierCV(LSSVC(approximation=...), ensemble=False)"
        )
    return True


@settings
class LSSVC(Classifier):
    r"""Least-squares support vector classification: regression on codes of the classes.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + \tfrac{C}{2} \sum_i s_i (1 - t_i (f(x_i) + b))^2,
              \qquad t_i = \pm 1

    Because :math:`t_i^2 = 1` this is :class:`LSSVR` on the targets t, and, for a linear kernel, the
    direction of Fisher's discriminant with a ridge. Several classes become columns of plus and
    minus one; columns without zeros share one factorization of the kernel matrix.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVC`.
    codes : str or array-like of shape (n_classes, n_columns), default="one-vs-rest"
        How several classes become problems of two: ``"one-vs-rest"``, ``"one-vs-one"``,
        ``"minimal"`` (binary digits), ``"ecoc"`` (error-correcting: all columns for up to seven
        classes, a Hadamard code beyond), ``"dense-random"``, ``"sparse-random"`` (the best of many
        random ones), or a matrix of -1, 0 and 1, rows in the order of ``classes_``; classes coded 0
        stay out of a column. Two classes need no codes.
    decoding : {"loss", "hamming", "least-squares"}, default="loss"
        How values of the columns become a class: by the squared loss under the codes of each class,
        by the number of columns that agree, or by shares of the classes that explain the values.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    random_state : int, RandomState or None
        For random codes.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVC`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_ :
        As in :class:`SVC`.
    code_book_ : ndarray of shape (n_classes, n_columns)
        The codes.
    dual_coef_ : ndarray of shape (n_columns, n_support)
        Coefficients of the columns' machines.
    null_space_coef_, intercept_ : ndarray of shape (n_columns, q) and (n_columns,)
        Their unpenalized parts.
    loo_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision values for each sample of the machine fitted without it, exactly and at no refit.
        The kernel, C, weights of classes and codes are kept.
    loo_predictions_ : ndarray of shape (n_samples,)
        The classes that they decide for.
    loo_error_ : float
        Weighted share of the samples for which they are wrong.
    C_ : float
        The weight that was used.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the columns.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.80) to (3.82);
    T. G. Dietterich and G. Bakiri, JAIR 2, 1995; E. L. Allwein, R. E. Schapire and Y. Singer, JMLR
    1, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LSSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = LSSVC(C=10.0, codes="one-vs-one").fit(X, y)
    >>> round(machine.loo_error_, 3), machine.predict_proba(X[:1]).round(2)
    (0.027, array([[0.97, 0.03, 0.  ]]))
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float | str = 1.0
    codes: Any = "one-vs-rest"
    decoding: str = "loss"
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "codes": [StrOptions(set(CODES)), "array-like"],
        "decoding": [StrOptions(set(DECODINGS))],
    }
    __dir__ = quick_listing
    _lazy: ClassVar[frozenset[str]] = frozenset({"loo_decision_", "loo_error_", "loo_predictions_"})

    # Fitting -------------------------------------------------------------------------------------

    def _encode(self, y: TargetsLike) -> tuple[NDArray[np.intp], Array]:
        labels, factors = super()._encode(y)
        self._set_codes()
        return labels, factors

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Squared()

    def _count_classes(self, classes: Any, counts: Any) -> None:
        super()._count_classes(classes, counts)
        self._set_codes()

    def _set_codes(self) -> None:
        self.code_book_ = code_book(self.codes, len(self.classes_), self.random_state)
        check_decoding(self.code_book_, self.decoding)
        self._decoding_fit = self.decoding

    def _book(self) -> Array:
        return np.asarray(self.code_book_, dtype=np.float64)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        K, B, c = sample.K, sample.B, self._weight() * sample.weights
        targets, subproblems = self.code_book_[sample.y], []
        whole = FactorizedGram(K) if K.resident else K
        for k, t in enumerate(targets.T):
            if not (np.any(c[t > 0] > 0) and np.any(c[t < 0] > 0)):
                raise ValueError(
                    "Invalid input - all samples with positive weights belong to the same class"
                    f" of column {k} of the codes."
                )
            rows = np.flatnonzero(t)
            part = whole if len(rows) == len(t) else K.restrict(rows) or Indexed(K, rows)
            title = f"column {k}" if len(targets.T) > 1 else ""
            risk = RegularizedRisk(self._loss(), part, t[rows], c[rows], B[rows])
            subproblems.append(Subproblem(title, risk))
        return subproblems

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        X, y, targets = sample.X, sample.y, self.code_book_[sample.y]
        coef = np.zeros(targets.shape)
        for k, one in enumerate(solved):
            coef[np.flatnonzero(targets[:, k]), k] = one.a
        index = np.flatnonzero(coef.any(axis=1))
        self._keep(X, index, coef[index], np.array([one.b for one in solved]), y[index])
        self._labels = y
        self._support_labels: NDArray[np.intp] | None = y[index]
        self._report: Any = CodeReport(
            kernel=self._kernel_fit if is_function(self.kernel) else self.kernel_,
            X=X
            if is_function(self.kernel) or is_precomputed(self.kernel)
            else kept(X, self.support_vectors_),
            B=sample.B,
            targets=targets,
            s=sample.weights,
            C=self.C_,
            kind=self.gram,
        )

    def _keep(
        self, X: PointsLike, index: NDArray[np.intp], coef: Array, b: Array, y: TargetsLike
    ) -> None:
        """Make the machine of coefficients of some points, and of the classes of these."""
        store(self, X, index, coef)
        self._n_support = np.bincount(y, minlength=len(self.classes_)).astype(np.int32)
        self.null_space_coef_ = b
        self.intercept_ = intercept_of(self.null_space_names_, b)
        self.n_iter_ = int(self.solution_.n_iter)
        self.C_ = self._weight()

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        self._keep(found.points, np.arange(found.map.m), found.A, found.b.T, sample.y)
        self._report = self._support_labels = None

    # The fitted functions as a value, and back ---------------------------------------------------

    def _expansion(self) -> FittedExpansion:
        """Return the functions of the columns, with the class of every support vector.

        A landmark of an approximation has the class that is predicted there.
        """
        whole, classes = super()._expansion(), self._support_labels
        if classes is None:
            classes = chosen(self.decision_function(self.support_vectors_))
        allowed = np.ones((len(self.classes_), whole.coef.shape[1]), dtype=bool)
        return replace(whole, groups=np.asarray(classes, dtype=np.intp), allowed=allowed)

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        new = super()._with_expansion(expansion)
        new._support_labels = expansion.groups
        if self._report is not None:
            new._report = self._report.without_sample()
        return new

    # Prediction ----------------------------------------------------------------------------------

    @by_blocks
    def column_decision(self, X: PointsLike) -> Array:
        """Evaluate the machines of all columns of the codes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Positive speaks for the classes coded 1.
        """
        X = self._check_new(X)
        f = expand(self, X, self._dual_coef_.T) + self.null_space_(X) @ self.null_space_coef_.T
        return np.asarray(f)

    def _scores(self, F: Array) -> Array:
        """Return decision values of values of the columns."""
        M = self.code_book_
        if len(M) == 2 and M.shape[1] == 1:
            return np.asarray(M[1, 0] * F[:, 0])
        if len(M) == 2:
            scores = decode(M, F, self._decoding_fit)
            return np.asarray(scores[:, 1] - scores[:, 0])
        if self._decoding_fit == "loss" and np.array_equal(M, 2.0 * np.eye(len(M)) - 1.0):
            return F  # in the order of the losses, and what users of one against the rest expect
        return decode(M, F, self._decoding_fit)

    @by_blocks
    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, a score of every class,
            the largest of which decides: the value of its machine for one against the rest, and
            what `decoding` makes of the columns for other codes.
        """
        return self._scores(self.column_decision(X))

    @available_if(_has_probabilities)
    @by_blocks
    def predict_proba(self, X: PointsLike) -> Array:
        r"""Predict class probabilities.

        Two classes have a sigmoid of the decision value, :math:`1/(1 + e^{-Af})`, fitted to the
        values of samples left out (exactly, without refits). Several have such a sigmoid for every
        column of the codes, with an intercept, and their probabilities are coupled by a model of
        choices between sets of classes; the nearest probabilities in which the class of
        :meth:`predict` is the most probable are returned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.

        References
        ----------
        J. Platt, *Probabilistic outputs for support vector machines*, 1999; T.-K. Huang, R. C. Weng
        and C.-J. Lin, JMLR 7, 2006.
        """
        F = self.column_decision(X)
        report = self._code_report()
        slope, intercept = report.sigmoids
        R = expit(slope * F + intercept)
        if R.shape[1] == 1:
            p = R[:, 0] if self.code_book_[1, 0] > 0 else 1.0 - R[:, 0]
            return np.column_stack([1.0 - p, p])
        P = coupled(self.code_book_, R, report.sizes)
        return agreeing(P, chosen(self._scores(F)))

    # Samples left out ----------------------------------------------------------------------------

    def _code_report(self) -> CodeReport:
        check_is_fitted(self)
        _has_probabilities(self)
        report: CodeReport = self._report
        return report

    @property
    def loo_decision_(self) -> Array:
        """Decision values of the machines that lack one sample each, at that sample."""
        return self._scores(self._code_report().values)

    @property
    def loo_predictions_(self) -> Any:
        """Classes predicted by the machines that lack one sample each, for that sample."""
        return self.classes_[chosen(self.loo_decision_)]

    @property
    def loo_error_(self) -> float:
        """Weighted share of samples that machines which lack them classify wrongly."""
        wrong = self.loo_predictions_ != self.classes_[self._labels]
        return float(np.average(wrong, weights=self._report.s))
