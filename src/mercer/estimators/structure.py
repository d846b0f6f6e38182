"""Machines that find out which components they need: maximal variation, then a refit."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions
from mercer._typing import Array, Constraints, PointsLike, TargetsLike
from mercer.estimators.additive import AdditiveClassifier, AdditiveRegressor
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve
from mercer.machines.classifier import chosen, encode_classes, refuse_one_class, signs
from mercer.machines.variation_machine import StructureWarning, VariationMachine, VariationPath

__all__ = [
    "SparseAdditiveClassifier",
    "SparseAdditiveRegressor",
    "StructureWarning",
    "VariationPath",
]


@settings
class SparseAdditiveRegressor(RegressorMixin, VariationMachine):  # type: ignore[misc]
    r"""Sparse additive regression: find the terms that a sample needs, and fit their sum.

    .. math:: \min_{f, b} \tfrac12 \sum_p \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr)
              + \mu \sum_p \max_i |f_p(x_i^{(p)})|

    The largest value of a component on the sample, its maximal variation, does not depend on how
    its input is scaled, and a penalty on the sum of them makes components vanish as a whole. Those
    that are left are shrunk too, which is why they are fitted again without the penalty
    (``refit``). The weight :math:`\mu` is chosen by cross-validation of the refitted machines
    along a path: the best one, or the largest within a standard error of it, which does not keep
    components for little.

    A component vanishes only as far as its kernel is smooth: with a kernel matrix of full rank all
    components vanish at the same :math:`\mu`. Components below a share `threshold` of the largest
    count as gone.

    Parameters
    ----------
    components, kernel, categorical :
        As in :class:`AdditiveRegressor`; dictionaries of kernels and parametric terms are given as
        :class:`Component` objects, several of them for a feature if need be.
    loss : Loss or str, default="squared"
        What an error costs; one with a quadratic dual.
    mu : float, "1se" or "min", default="1se"
        The weight of the variation, or how to choose it.
    C : float or "auto", default="auto"
        Weight of the loss; by leaving one out of the additive machine, and again for the refit.
    penalty : {"variation", "norm"}, default="variation"
        Of largest values; or of norms, :math:`\mu \sum_p \|f_p\|`, which makes exact zeros also
        of rough components.
    form : {"full", "substrate"}, default="full"
        Coefficients of each component of its own; or components that share one expansion, with the
        variation as the only penalty.
    refit : bool or "tuned", default=True
        Fit the components that are left again, by a low-rank approximation beyond 5,000
        rows; with weights by the evidence if "tuned".
    threshold : float, default=0.01
        Share of the largest variation below which a component is dropped.
    n_mus, smallest : int and float, default=15 and 1e-2
        Length of the path, and its end relative to where nothing is left.
    cv : int, splitter or iterable, default=5
        Folds as in :func:`~mercer.machines.folds.as_splitter`, or any splitter; a single split
        validates.
    rank : int, default=40
        Largest number of functions of a component, chosen by a pivoted factorization.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    tol : float, default=1e-5
        Relative duality gap of the programs.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    degree, gamma, coef0 :
        Of named kernels, for each feature by itself.
    verbose : bool or int, default=False
        Write a line for every fold, and how the fit ended, to the standard error.

    Attributes
    ----------
    selected_ : ndarray of shape (n_components,)
        Which components are kept.
    selected_names_, component_names_ : list of str
        Their names, and those of all.
    variation_ : ndarray of shape (n_components,)
        Largest values of the components, before a refit.
    mu_, C_ : float
        The weights that were used.
    path_ : VariationPath or None
        Variation, selection and errors along the path; None for a given weight.
    machine_ : AdditiveRegressor or None
        The refitted machine, None without components or refit.
    solution_ : Solution
        Certificate of the program.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 6.4, eq. (6.37)-(6.45), and
    section 8.4.2, eq. (8.39)-(8.43).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SparseAdditiveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 6))
    >>> y = 5 * np.sin(3 * X[:, 0]) + 3 * X[:, 3] + 0.3 * rng.normal(size=80)
    >>> machine = SparseAdditiveRegressor(n_mus=8).fit(X, y)
    >>> machine.selected_names_, machine.score(X, y) > 0.95
    (['x0', 'x3'], True)
    """

    components: Any = "each"
    kernel: Any = "rbf"
    _: KW_ONLY
    loss: Loss | str = "squared"

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(REGRESSION))],
    }

    def _loss(self) -> Loss:
        return resolve(self.loss, REGRESSION)

    _additive = AdditiveRegressor

    def _encode(self, y: TargetsLike, s: Array) -> tuple[Any, Array, Array]:
        y = np.asarray(y, dtype=np.float64)
        return y, y[:, None], s

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the fitted function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._check_new(X)
        if self.machine_ is None:
            return self._values(X)[:, 0]
        return np.asarray(self.machine_.predict(X))


@settings
class SparseAdditiveClassifier(ClassifierMixin, VariationMachine):  # type: ignore[misc]
    r"""Sparse additive classification: find the terms that tell classes apart, and add them.

    .. math:: \min_{f, b} \tfrac12 \sum_p \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr)
              + \mu \sum_p \max_i |f_p(x_i^{(p)})|, \qquad y_i = \pm 1

    More than two classes are divided each from the rest, with one :math:`\mu`; a component is kept
    if one of the functions needs it.

    Parameters
    ----------
    loss : Loss or str, default="hinge"
        What a decision value costs; one with a quadratic dual.
    class_weight : dict or "balanced", optional
        Factors of the weights for the classes.
    components, kernel, mu, C, penalty, form, refit, threshold, n_mus, smallest, cv :
        As in :class:`SparseAdditiveRegressor`.
    categorical, rank, null_space, tol, random_state, degree, gamma, coef0 :
        As in :class:`SparseAdditiveRegressor`.
    verbose : bool or int, default=False
        Write a line for every fold, and how the fit ended, to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    selected_, selected_names_, variation_, mu_, C_, path_, solution_ :
        As in :class:`SparseAdditiveRegressor`.
    machine_ : AdditiveClassifier or None
        The refitted machine.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 6.4 and eq. (6.49)-(6.54)
    with everything observed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SparseAdditiveClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 5))
    >>> y = np.where(np.abs(X[:, 1]) > 0.5, "outer", "inner")
    >>> machine = SparseAdditiveClassifier(n_mus=6, C=10.0).fit(X, y)
    >>> machine.selected_names_, machine.score(X, y) > 0.95
    (['x1'], True)
    """

    components: Any = "each"
    kernel: Any = "rbf"
    _: KW_ONLY
    loss: Loss | str = "hinge"
    class_weight: dict[Any, float] | str | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _classifies: ClassVar[bool] = True

    def _loss(self) -> Loss:
        return resolve(self.loss, CLASSIFICATION)

    _additive = AdditiveClassifier

    def _stratified(self, Y: Array) -> Any:
        return np.argmax(Y, axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)

    def _encode(self, y: TargetsLike, s: Array) -> tuple[Any, Array, Array]:
        self.classes_, codes = encode_classes(y)
        refuse_one_class(codes[s > 0])
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return y, signs(codes, len(self.classes_)), s * weights[codes]

    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        X = self._check_new(X)
        if self.machine_ is not None:
            return np.asarray(self.machine_.decision_function(X))
        f = self._values(X)
        return f[:, 0] if len(self.classes_) == 2 else f

    def predict(self, X: PointsLike) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        best = chosen(self.decision_function(X))
        return self.classes_[best]
