"""Machines that are sums of functions of few features each, for every loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, settings
from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.machines.additive import Additive
from mercer.machines.best_linear import BestLinear
from mercer.machines.components import Component
from mercer.machines.exact import ExactFit
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.outputs import Outputs
from mercer.machines.ways import choose_fit

__all__ = ["AdditiveClassifier", "AdditiveRegressor", "Component"]


@settings
class AdditiveRegressor(Additive, Outputs):
    r"""Regression by a sum of functions of one or a few features each, for any convex loss.

    .. math:: \min_{f, b} \tfrac12 \sum_p v_p^{-1} \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr)

    Dually it is one machine with the kernel :math:`\sum_p v_p k_p`: every loss, solver, null space
    and approximation applies. With a function of each feature alone the error falls as fast as in
    one dimension, and every component can be looked at.

    Parameters
    ----------
    components : {"each", "pairs"}, int, list or dict, default="each"
        Every feature alone; also all pairs of features; all sets of up to so many; or a list whose
        entries are features (positions or names), groups of these, or :class:`Component` objects
        with kernels and weights of their own; or a dictionary of names and groups.
    kernel : Kernel, str or dict, default="rbf"
        Kernel of components without one of their own: a name, whose ``gamma`` is settled for each
        feature by itself, of several features their product; a kernel, which acts on the features
        of a component; or a dictionary of features and either of these.
    loss : Loss or str, default="squared"
        What an error costs.
    categorical : list of features or mask, optional
        Features that are categories, given as numbers: any value at each of them.
    tune : {"weights"} or None, default=None
        Choose the weights v by the evidence of the squared loss on at most 500 rows; a component
        that is not needed gets a weight of almost nothing. ``C="auto"`` is then chosen along with
        them.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty.
    errors, output_covariance, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`KernelRegressor`.
    max_time, gram, solver, warm_start, approximation :
        As in :class:`KernelRegressor`.

    Attributes
    ----------
    component_names_ : list of str
        Names of the components: of their features, or as given.
    component_means_ : ndarray of shape (n_components,)
        Means over the sample, which centred components leave out.
    component_range_ : ndarray of shape (n_components, 2)
        Smallest and largest values of the centred components on the sample.
    component_variation_ : ndarray of shape (n_components,)
        Largest absolute values on the sample, as the machine splits constants: its maximal
        variation.
    component_offset_ : float
        Intercept and means together.
    terms_ : list
        The components with kernels and weights as they were used.
    dual_coef_, support_, intercept_, null_space_coef_, solution_ :
        As in :class:`KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (4.15)-(4.25) and lemma 9.1;
    T. Hastie and R. Tibshirani, *Generalized Additive Models*, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AdditiveRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    >>> machine = AdditiveRegressor(C=100.0).fit(X, y)
    >>> machine.component_names_, machine.score(X, y) > 0.99
    (['x0', 'x1', 'x2'], True)
    >>> low, high = machine.component_range_.T
    >>> bool((high - low)[2] < 0.05 * (high - low)[0])
    True
    >>> parts = machine.predict_components(X)
    >>> np.allclose(parts.sum(axis=1) + machine.component_offset_, machine.predict(X))
    True
    """

    components: Any = "each"
    kernel: Any = "rbf"
    _: KW_ONLY
    loss: Loss | str = "squared"
    errors: Any = None
    output_covariance: Any = None
    C: float | str = 1.0

    def _single_output(self) -> bool:
        return self._n_outputs is None

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None:
        super()._fit_extras(X, y, sample_weight)
        exact = isinstance(choose_fit(self, X), ExactFit)
        exact = exact and self.errors is None and self._single_output()
        self._bayes: Array | None = None
        if exact and isinstance(self._loss(), Squared):
            s = np.ones(self.shape_fit_[0])
            if sample_weight is not None:
                s = np.asarray(sample_weight, dtype=np.float64)
            self._bayes = s[self.support_] * self._weight()

    # What squared losses tell of components -------------------------------------------------------

    def component_errors(self, X: PointsLike) -> Array:
        r"""Return standard errors of the centred components, for the squared loss.

        They are those of the Gaussian process behind the machine,
        :math:`f_p \sim N(0, \tau v_p k_p)` with :math:`\tau = C \hat\sigma^2`, given the targets,
        which cover the true function at the stated rate on the average over the inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_components)

        References
        ----------
        G. Wahba, *Bayesian confidence intervals for the cross-validated smoothing spline*, JRSS B
        45 (1983).
        """
        best, _ = self._best_linear()
        X = self._check_new(X)
        scale = self.noise_variance_ * self._weight()
        errors = np.empty((X.shape[0], len(self.component_names_)))
        for p, (cross, columns, diagonal) in enumerate(self._functionals(X)):
            errors[:, p] = np.sqrt(scale * best.variance(cross, columns, diagonal))
        return errors

    @property
    def component_freedom_(self) -> Array:
        """Effective degrees of freedom of the centred components, for the squared loss."""
        best, _ = self._best_linear()
        points = self.support_vectors_
        return np.array(
            [
                float(np.einsum("ij,ij->", best.weights(cross, columns), np.eye(points.shape[0])))
                for cross, columns, _ in self._functionals(points)
            ]
        )

    @property
    def noise_variance_(self) -> float:
        """Residual variance: the squared loss over the remaining degrees of freedom."""
        best, c = self._best_linear()
        a = np.ravel(self._dual_coef_)
        # Residuals are a / c, and 1 - S has the diagonal Q / c.
        left = float(np.sum(best.diagonal / c))
        square = float(np.sum(np.square(a) / c)) / self._weight()
        return square / left if left > 0 else 0.0

    def _best_linear(self) -> tuple[BestLinear, Array]:
        check_is_fitted(self)
        c: Array | None = getattr(self, "_bayes", None)
        if c is None:
            raise ValueError(
                "standard errors and degrees of freedom of components exist for the squared "
                "loss with one output, all of its functions, and independent errors."
            )
        points = self.support_vectors_
        K = np.asarray(self.kernel_(points), dtype=np.float64)
        return BestLinear(K + np.diag(1.0 / c), self.null_space_(points)), c

    def _functionals(self, X: PointsLike) -> Any:
        """Yield covariance with the sample, unpenalized part and variance of each component."""
        points = self.support_vectors_
        new, old = self.null_space_(X), self.null_space_(points)
        trend = new - np.mean(old, axis=0)
        for p, term in enumerate(self.terms_):
            k = term.weighted
            inner = np.asarray(k(points), dtype=np.float64)
            cross = np.asarray(k(X, points), dtype=np.float64)
            mean = np.mean(inner, axis=0)
            diagonal = np.asarray(k.diag(X)) - 2.0 * np.mean(cross, axis=1) + np.mean(mean)
            columns = np.zeros_like(trend)
            for j, k_of in self._joined.items():
                if k_of == p:
                    columns[:, j] = trend[:, j]
            yield cross - mean, columns, np.maximum(diagonal, 0.0)
        for j in self._further:
            columns = np.zeros_like(trend)
            columns[:, j] = trend[:, j]
            yield np.zeros((X.shape[0], points.shape[0])), columns, np.zeros(X.shape[0])


@settings
class AdditiveClassifier(Additive, OneVsRest):
    r"""Classify by a sum of functions of one or a few features each, for any loss of the margin.

    .. math:: \min_{f, b} \tfrac12 \sum_p v_p^{-1} \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr), \qquad y_i = \pm 1

    Several classes are decided by one machine per class against the rest, which share kernels and
    weights.

    Parameters
    ----------
    components, kernel, categorical, tune :
        As in :class:`AdditiveRegressor`; the evidence is that of labels plus and minus one.
    loss : Loss or str, default="logistic"
        What a wrong or narrow decision costs; the logistic loss has probabilities.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    null_space, C, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`KernelClassifier`.
    max_time, gram, solver, warm_start, approximation :
        As in :class:`KernelClassifier`.

    Attributes
    ----------
    component_names_, component_means_, component_range_, component_variation_, terms_ :
        As in :class:`AdditiveRegressor`, with one more axis for the classes if there are more than
        two.
    classes_, support_, dual_coef_, intercept_, solution_ :
        As in :class:`KernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AdditiveClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, "outer", "inner")
    >>> machine = AdditiveClassifier(C=10.0).fit(X, y)
    >>> machine.score(X, y) > 0.95, int(np.argmax(machine.component_variation_))
    (True, 0)
    """

    components: Any = "each"
    kernel: Any = "rbf"
    _: KW_ONLY
    loss: Loss | str = "logistic"
    C: float | str = 1.0

    def _single_output(self) -> bool:
        return len(self.classes_) == 2
