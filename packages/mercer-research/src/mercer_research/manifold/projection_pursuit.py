"""Kernel projection pursuit: directions whose projections have a large contrast."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.manifold.principal import signs_of
from mercer.solvers import ConvergenceWarning
from mercer_research.manifold.ascent import ascend, ascend_l1, standardized
from mercer_research.manifold.contrasts import CONTRASTS, Contrast
from mercer_research.manifold.kernel_rows import KernelFeatures, KernelRows

__all__ = ["KernelProjectionPursuit"]

# Principal components whose variance is below this part of the largest are rounding.
RANK = 1e-10

# Rows for every white direction: among more directions some look interesting by chance.
ROWS = 10


class Pursued(NamedTuple):
    """Directions in feature space, with the ascents that found them."""

    coef: Array
    """Coefficients of the images of the sample, (m, p)."""

    optima: list[Array]
    """Contrast that each start reached, the largest first."""

    histories: list[Array]
    """Contrast along the best ascent."""

    lost: int
    """Number of ascents that did not end."""


@settings
class KernelProjectionPursuit(KernelFeatures):
    r"""Find directions in feature space whose projections have a large contrast.

    .. math:: \max_w\; \sum_i s_i\, q\bigl(\langle w, \Phi(x_i) - \bar\Phi \rangle\bigr)

    over directions w of unit length, or of unit variance, or combinations of images with l1 norm
    one. The square for q gives kernel PCA; contrasts that measure the distance from a Gaussian give
    independent components, and with a linear kernel ordinary projection pursuit. Ascents from
    several starts never lower the contrast; which local maxima they reach is reported.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions.
    kernel : Kernel, str or callable, default="rbf"
        Kernel, also conditionally positive definite of order 1; ``"precomputed"`` takes matrices.
    contrast : str or pair of callables, default="logcosh"
        ``"variance"``; the distance from a Gaussian in ``"kurtosis"``, ``"skewness"``,
        ``"logcosh"`` or ``"exp"``; or functions ``(q, slope)`` of an array, elementwise, where
        slope is the derivative of q.
    constraint : {"rkhs", "l1"}, default="rkhs"
        Length of the direction in feature space, or l1 norm of its coefficients, which makes
        directions of few kernel functions.
    whiten : bool or "auto", default="auto"
        Take the contrast of projections with unit variance. "auto": for all contrasts but the
        variance and functions. Contrasts by name, the variance apart, need it.
    rank : int or "auto", default="auto"
        Number of leading kernel principal components that directions are combined from. "auto":
        all of them, but one for ten rows where projections have unit variance, because among more
        directions some look interesting by chance. Not used for ``constraint="l1"``.
    deflation : {"uncorrelated", "orthogonal"} or None, default=None
        Whether further directions have projections uncorrelated with the earlier projections, or
        are orthogonal to the earlier directions in feature space. None is "uncorrelated" for
        ``constraint="rkhs"``; "orthogonal" is the only choice for "l1".
    n_init : int, default=10
        Number of random starts for every direction; ``constraint="l1"`` has one start, the best
        single sample.
    tol : float, default=1e-6
        Sine of the angle between a direction and the gradient at which an ascent ends.
    max_iter : int, default=1000
        Largest number of steps of an ascent.
    random_state : int, RandomState or None, default=None
        Draws the starts.
    gamma, degree, coef0 :
        Parameters of kernels given by name, see :func:`mercer.kernels.named.resolve`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    contrast_ : ndarray of shape (n_components,)
        Contrast of each direction on the sample.
    optima_ : list of ndarray
        For every direction, the contrast that each start reached, the largest first: different
        values are local maxima.
    history_ : list of ndarray
        For every direction, the contrast at the start and after each step of the best ascent.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Coefficients of kernel functions.
    mean_ : ndarray of shape (n_components,)
        Mean of the sums of kernel functions, which is subtracted.
    n_components_ : int
        Number of directions found.
    n_iter_ : int
        Largest number of steps of a best ascent.
    X_fit_ : ndarray of shape (n_samples, n_features)
        The sample; column numbers for a precomputed kernel.
    kernel_ : Kernel
        The kernel with its parameters.

    Notes
    -----
    The sign of a direction with an even contrast is chosen so that the skewness of its projection
    is not negative. The kernel matrix is held, and its eigenvalues cost :math:`m^3` operations.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, PhD thesis, TU Berlin 1998, section 5.2, eq. (5.16); A.
    Hyvarinen, *Fast and robust fixed-point algorithms for independent component analysis*, IEEE
    Transactions on Neural Networks 1999 (contrasts logcosh and exp, the step on white data).

    Examples
    --------
    Two independent uniform sources are found in a mixture of them.

    >>> import numpy as np
    >>> from mercer_research.manifold import KernelProjectionPursuit
    >>> S = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> X = S @ [[2.0, 1.0], [1.0, 1.0]]
    >>> found = KernelProjectionPursuit(2, "linear", random_state=0).fit(X).transform(X)
    >>> np.abs(np.corrcoef(S.T, found.T)[:2, 2:]).max(axis=1).round(2)
    array([0.99, 1.  ])
    """

    n_components: int = 2
    kernel: Kernel | str | Callable[..., Any] = "rbf"
    _: KW_ONLY
    contrast: Any = "logcosh"
    constraint: str = "rkhs"
    whiten: bool | str = "auto"
    rank: int | str = "auto"
    deflation: str | None = None
    n_init: int = 10
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "contrast": [StrOptions(set(CONTRASTS)), tuple, list],
        "constraint": [StrOptions({"rkhs", "l1"})],
        "whiten": ["boolean", StrOptions({"auto"})],
        "rank": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "deflation": [StrOptions({"uncorrelated", "orthogonal"}), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _declared(self) -> tuple[Contrast, bool]:
        """Return the contrast, and whether it is of projections with unit variance."""
        given = self.contrast
        if isinstance(given, str):
            contrast = CONTRASTS[given]
        elif len(given) == 2 and all(callable(q) for q in given):
            contrast = Contrast(*given)
        else:
            raise ValueError("contrast must be a name or a pair of functions (q, slope).")
        white = contrast.reference is not None if self.whiten == "auto" else bool(self.whiten)
        if contrast.reference is not None and not white:
            raise ValueError(
                f"contrast={given!r} is a distance from the Gaussian of unit variance; leave out "
                "whiten=False, or give the functions (q, slope)."
            )
        if self.constraint == "l1" and self.rank != "auto":
            raise ValueError("rank is the number of principal components of constraint='rkhs'.")
        if self.constraint == "l1" and self.deflation == "uncorrelated":
            raise ValueError("constraint='l1' deflates by orthogonal directions only.")
        return contrast, white

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Find directions of large contrast.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, or a square kernel matrix for a precomputed kernel.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in means and contrasts.
        """
        contrast, white = self._declared()
        X = self._checked(X, reset=True, least=2)
        w = self._weights(sample_weight, X)
        self.kernel_ = self._definite_kernel(X, order=1 if self.constraint == "rkhs" else 0)
        rows = KernelRows(self.kernel_, X)
        K = np.concatenate([block for _, block in rows.blocks()])
        K = 0.5 * (K + K.T)
        pursue = self._pursue if self.constraint == "rkhs" else self._pursue_l1
        found = pursue(K, w, contrast, white)
        p = found.coef.shape[1]
        if found.lost:
            warnings.warn(
                f"{found.lost} of the ascents did not end in {self.max_iter} steps; raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if p < self.n_components:
            warnings.warn(
                f"the samples span {p} dimensions: {p} directions instead of {self.n_components}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        F = K @ found.coef
        mean = w @ F
        signs = np.ones(p)
        if contrast.even:
            signs = np.where(w @ (F - mean) ** 3 < 0, -1.0, 1.0)
        self.dual_coef_, self.mean_ = found.coef * signs, mean * signs
        self.X_fit_, self.n_components_ = self.kernel_.points(X, np.arange(rows.m)), p
        projections = (F - mean) * signs
        self._sides = np.array([contrast.side(xi, w) for xi in projections.T])
        self.contrast_ = np.array([contrast.of(xi, w) for xi in projections.T])
        self.optima_, self.history_ = found.optima, found.histories
        self.n_iter_ = max(1, *(len(values) - 1 for values in found.histories))
        return self

    def _pursue(self, K: Array, w: Array, contrast: Contrast, white: bool) -> Pursued:
        """Ascend over directions of unit length in coordinates of kernel principal components."""
        root = np.sqrt(w)
        centred = K - w @ K
        centred = centred - (centred @ w)[:, None]
        spectrum, U = la.eigh(root[:, None] * centred * root)
        spectrum, U = spectrum[::-1], U[:, ::-1]
        top = float(spectrum[0])
        if spectrum[-1] < -1e-6 * top:
            raise ValueError(f"{self.kernel_!r} is not positive definite on this sample.")
        if not top > 0:
            raise ValueError("The sample does not vary in feature space; give at least two points.")
        r = int(np.sum(spectrum > RANK * top))
        p = min(self.n_components, r)
        if self.rank != "auto":
            r = min(r, int(self.rank))
        elif white:
            r = min(r, max(p, int(np.sum(w > 0)) // ROWS))
        spectrum, U = spectrum[:r], U[:, :r] * signs_of(U[:, :r])
        scale = spectrum if white else np.sqrt(spectrum)
        A = root[:, None] * U / scale
        A -= np.outer(w, A.sum(axis=0))  # k of centred points by coefficients of sum zero
        Y = centred @ A
        rng = check_random_state(self.random_state)
        metric = np.ones(r)
        if white and self.deflation == "orthogonal":
            metric = 1.0 / spectrum
        elif not white and self.deflation != "orthogonal":
            metric = spectrum
        W = np.empty((r, 0))
        optima, histories, lost = [], [], 0
        for _ in range(min(p, r)):
            # Directions u with W' M u = 0 are combinations of the columns of Q.
            Q = la.qr(metric[:, None] * W)[0][:, W.shape[1] :] if W.shape[1] else np.eye(r)
            ascents = [
                ascend(
                    Y @ Q,
                    w,
                    contrast,
                    rng.normal(size=Q.shape[1]),
                    white=white,
                    tol=self.tol,
                    max_iter=self.max_iter,
                )
                for _ in range(self.n_init)
            ]
            ends = np.array([ascent.values[-1] for ascent in ascents])
            best = ascents[int(np.argmax(ends))]
            W = np.column_stack([W, Q @ best.direction])
            optima.append(np.sort(ends)[::-1])
            histories.append(best.values)
            lost += sum(not ascent.converged for ascent in ascents)
        return Pursued(A @ W, optima, histories, lost)

    def _pursue_l1(self, K: Array, w: Array, contrast: Contrast, white: bool) -> Pursued:
        """Ascend over combinations of images, each orthogonal to the directions before."""
        m = len(w)
        left, C, G = K.copy(), np.empty((m, 0)), np.empty((m, 0))
        optima, histories, lost = [], [], 0
        top = float(np.max(np.diag(K)))
        for _ in range(self.n_components):
            found = ascend_l1(left, w, contrast, white=white, max_iter=self.max_iter)
            a = found.direction
            length = float(a @ left @ a)
            if not length > RANK * top:
                break
            c = (a - C @ (G.T @ a)) / np.sqrt(length)
            g = left @ a / np.sqrt(length)
            C, G = np.column_stack([C, c]), np.column_stack([G, g])
            left = left - np.outer(g, g)
            optima.append(found.values[-1:])
            histories.append(found.values)
            lost += not found.converged
        if not optima:
            raise ValueError("The sample does not vary in feature space; give at least two points.")
        if white:
            C = C / np.sqrt(w @ (G - w @ G) ** 2)
        return Pursued(C, optima, histories, lost)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: PointsLike) -> Array:
        """Project points on the directions, about the mean of the sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, or kernel values against all training samples for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        X = self._checked(X, reset=False)
        K = np.asarray(self.kernel_(X, self.X_fit_), dtype=np.float64)
        return np.asarray(K @ self.dual_coef_ - self.mean_)

    def contrasts(self, X: PointsLike) -> NDArray[np.float64]:
        """Return the contrast of the projections of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that were not in the fit. Where the contrast is of unit variance, projections are
            divided by their standard deviation on these rows; distances from the Gaussian keep the
            sign they had in the fit, so that a direction found by chance scores near zero or below.

        Returns
        -------
        ndarray of shape (n_components,)
        """
        contrast, white = self._declared()
        F = self.transform(X)
        w = np.full(len(F), 1.0 / len(F))
        if white:
            spread = F.std(axis=0)
            if not np.all(spread > 0):
                raise ValueError("The projections do not vary; give at least two different rows.")
            F = np.column_stack([standardized(xi, w) for xi in F.T])
        means = [contrast.mean(xi, w) for xi in F.T]
        return np.asarray(self._sides * np.array(means))

    def score(self, X: PointsLike, y: TargetsLike = None) -> float:
        """Return the mean contrast of the projections of new rows, see :meth:`contrasts`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        return float(np.mean(self.contrasts(X)))
