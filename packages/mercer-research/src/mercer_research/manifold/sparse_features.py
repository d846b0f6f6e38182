"""Sparse kernel features: directions of one kernel function each, exact at every step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import BLOCK_BYTES, count, row_slices, take
from mercer.solvers import ConvergenceWarning
from mercer_research.manifold.contrasts import CONTRASTS, Contrast, power
from mercer_research.manifold.kernel_rows import KernelFeatures, KernelRows

__all__ = ["SparseKernelFeatures", "Vertices", "search_vertices"]

# A point counts as a combination of the chosen points where its squared distance from their span is
# below this part of the largest k(x, x): beyond, rounding decides.
RANK = 1e-10

# Scores are updated by differences. They are computed anew where the largest of them fell below
# this part of the largest at the last computation, so that six digits of every score are right.
FRESH = 1e-6


class Vertices(NamedTuple):
    """Directions that a search over single points chose, in their order."""

    chosen: NDArray[np.intp]
    """Which points were chosen, (p,)."""

    signs: Array
    """Sign of each direction, (p,)."""

    G: Array
    """Features of the sample: projections on the orthonormal directions, (m, p)."""

    contrast: Array
    """Contrast of each direction when it was chosen, (p,)."""

    total: float
    """Second moment of the sample in feature space, about its mean if centred."""

    L: Array
    """Lower triangular factor with k(z, z') = L L' at the chosen points, (p, p)."""


def search_vertices(
    K: KernelRows, w: Array, p: int, contrast: Contrast, *, center: bool, normalize: bool
) -> Vertices:
    r"""Choose points whose directions have the largest contrast, each orthogonal to those before.

    A convex contrast of :math:`\langle v, \Phi(x_j) \rangle` is largest over the l1 ball at one of
    its vertices, :math:`v = \pm \Phi(x_i)`, so the maximum over single points is the maximum over
    the ball. The kernel is then replaced by its part orthogonal to the choice,

    .. math:: k(x, x') - g(x)\, g(x'), \qquad g(x) = k(x, x_i) / \sqrt{k(x_i, x_i)}

    For the variance a step is one product with the kernel matrix; for other contrasts it is one
    pass over blocks of the matrix. Memory is m p numbers and one block.

    Parameters
    ----------
    K : KernelRows
    w : (m,) array
        Weights, whose sum is one. Points without weight are not chosen.
    p : int
        Number of directions; fewer are returned where the sample spans fewer.
    contrast : Contrast
    center : bool
        Whether projections are taken about their mean.
    normalize : bool
        Whether directions are scaled to unit length before they are compared.
    """
    quadratic = contrast is CONTRASTS["variance"]
    d = K.diag()
    top = float(np.max(d[w > 0], initial=0.0))
    G = np.empty((K.m, min(p, K.m)))
    floor = RANK * top
    scores, signs, means = _scores(K, w, G[:, :0], d.clip(floor), contrast, center, normalize)
    total = float(w @ d) - (float(w @ means) if center else 0.0)
    index: list[int] = []
    chosen: list[float] = []
    sides: list[float] = []
    fresh = float(np.max(scores[w > 0]))
    for t in range(G.shape[1]):
        free = (w > 0) & (d > floor)
        if not free.any():
            break
        values = scores / d.clip(floor) if quadratic and normalize else scores
        i = int(np.argmax(np.where(free, values, -np.inf)))
        index.append(i)
        chosen.append(float(values[i]))
        sides.append(float(signs[i]))
        row = np.asarray(K.kernel(K.X, K.kernel.points(K.X, np.array([i]))), dtype=np.float64)
        g = (row[:, 0] - G[:, :t] @ G[i, :t]) / np.sqrt(d[i])
        G[:, t] = g
        d = d - g**2
        # The remainder of a positive definite kernel has no negative diagonal.
        if np.min(d) < -1e-6 * top:
            raise ValueError(f"{K.kernel!r} is not positive definite on this sample.")
        d[i] = 0.0
        if t + 1 == G.shape[1]:
            break
        if quadratic:
            h = g - w @ g if center else g
            v = w * h
            scores = scores - 2.0 * g * (K.matvec(v) - G[:, :t] @ (G[:, :t].T @ v))
            scores = scores + g**2 * float(v @ h)
        if not quadratic or float(np.max(scores[w > 0])) < FRESH * fresh:
            left = d.clip(floor)
            scores, signs, _ = _scores(K, w, G[:, : t + 1], left, contrast, center, normalize)
            fresh = float(np.max(scores[w > 0]))
    rank = len(index)
    G = G[:, :rank]
    L = np.tril(G[index])
    side = np.array(sides)
    return Vertices(np.array(index, dtype=np.intp), side, G, np.array(chosen), total, L)


def _scores(
    K: KernelRows,
    w: Array,
    G: Array,
    d: Array,
    contrast: Contrast,
    center: bool,
    normalize: bool,
) -> tuple[Array, Array, Array]:
    """Return the contrast of every point's direction, its better sign, and its mean, each (m,).

    Scores of the variance are those of directions of any length; the caller divides.
    """
    scores, signs, means = np.empty(K.m), np.ones(K.m), np.empty(K.m)
    quadratic = contrast is CONTRASTS["variance"]
    for rows, values in K.blocks():
        values = values - G[rows] @ G.T  # a row of the block is a candidate's direction
        means[rows] = values @ w
        if center:
            values -= means[rows][:, None]
        if quadratic:
            scores[rows] = (values**2) @ w
            continue
        if normalize:
            values /= np.sqrt(d[rows])[:, None]
        scores[rows] = np.asarray(contrast.value(values), dtype=np.float64) @ w
        if not contrast.even:
            turned = np.asarray(contrast.value(-values), dtype=np.float64) @ w
            signs[rows] = np.where(turned > scores[rows], -1.0, 1.0)
            scores[rows] = np.maximum(turned, scores[rows])
    if not np.all(np.isfinite(scores)):
        raise ValueError("The contrast is not finite on this sample; scale the inputs.")
    return scores, signs, means


def _has_diagonal(transformer: Any) -> bool:
    """Return whether k(x, x) of new points is known; a precomputed matrix does not have it."""
    return not transformer._precomputed


@settings
class SparseKernelFeatures(KernelFeatures):
    r"""Extract features of one kernel function each, by kernel feature analysis with an l1 norm.

    .. math:: \max_\alpha\; \frac1m \sum_j q\Bigl(\sum_i \alpha_i k(x_i, x_j)\Bigr)
              \quad \text{subject to} \quad \|\alpha\|_1 = 1

    A convex contrast q is largest at a vertex of the l1 ball, so the best direction is the image of
    one sample and is found exactly by comparing all samples: no local optima. Each further
    direction is orthogonal to the chosen directions in feature space. The features of a new point
    need ``n_components`` kernel values, where kernel PCA needs one for every sample.

    Parameters
    ----------
    n_components : int, default=2
        Number of features; fewer are found where the sample spans fewer dimensions.
    kernel : Kernel, str or callable, default="rbf"
        Positive definite kernel; ``"precomputed"`` takes kernel matrices.
    contrast : "variance", float or callable, default="variance"
        The convex function q: the square, a power :math:`|\xi|^p` with p at least 1, or a function
        of an array, elementwise, which must be convex for the choice to be the best.
    normalize : bool, default=False
        Compare directions of unit length instead of the images themselves. With the variance each
        step then reduces the reconstruction error as much as one sample can.
    center : bool, default=False
        Take projections about their mean, so that the variance is a variance and not a second
        moment. The mean of each feature is subtracted.
    gamma, degree, coef0 :
        Parameters of kernels given by name, see :func:`mercer.kernels.named.resolve`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    selected_ : ndarray of shape (n_components,)
        Positions of the chosen samples, in the order of choice.
    centres_ : ndarray of shape (n_components, n_features)
        The chosen samples; their positions for a precomputed kernel.
    n_components_ : int
        Number of features found.
    contrast_ : ndarray of shape (n_components,)
        Contrast of each direction when it was chosen.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each feature, and its share of the variance in feature space: second moments
        unless `center`.
    reconstruction_error_ : ndarray of shape (n_components,)
        Mean squared distance in feature space between the sample and its projection on the
        directions so far.
    factor_ : ndarray of shape (n_components, n_components)
        Lower triangular L with :math:`k(z, z') = L L'` at the centres; features are
        :math:`L^{-1} k(z, x)`.
    mean_ : ndarray of shape (n_components,)
        Subtracted from the features: zero unless `center`.
    kernel_ : Kernel
        The kernel with its parameters.

    Notes
    -----
    With the variance, scores of all samples are updated by one product with the kernel matrix a
    step, in blocks: p features of m samples take p passes over the matrix and m p numbers of
    memory. Other contrasts evaluate :math:`m^2` values of q a step. The method is a pivoted
    incomplete Cholesky factorization whose pivot is chosen by the contrast.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, PhD thesis, TU Berlin 1998, section 5.2, eq. (5.14).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.manifold import SparseKernelFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> features = SparseKernelFeatures(5, kernel="rbf", gamma=0.5).fit(X[:100])
    >>> features.explained_variance_ratio_.sum().round(2), round(features.score(X[100:]), 2)
    (np.float64(0.76), 0.69)
    """

    n_components: int = 2
    kernel: Kernel | str | Callable[..., Any] = "rbf"
    _: KW_ONLY
    contrast: str | float | Callable[..., Any] = "variance"
    normalize: bool = False
    center: bool = False

    _parameter_constraints: ClassVar[Constraints] = {
        "contrast": [StrOptions({"variance"}), Interval(Real, 1.0, None, closed="left"), callable],
        "normalize": ["boolean"],
        "center": ["boolean"],
    }

    def _convex_contrast(self) -> Contrast:
        given: Any = self.contrast
        if isinstance(given, str):
            return CONTRASTS[given]
        if callable(given):
            return Contrast(given, given, convex=True)
        return CONTRASTS["variance"] if given == 2 else power(float(given))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Choose the samples whose directions have the largest contrast.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, or a square kernel matrix for a precomputed kernel.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the contrast; samples of weight zero are not chosen.
        """
        X = self._checked(X, reset=True)
        w = self._weights(sample_weight, X)
        self.kernel_ = self._definite_kernel(X)
        found = search_vertices(
            KernelRows(self.kernel_, X),
            w,
            int(self.n_components),
            self._convex_contrast(),
            center=self.center,
            normalize=self.normalize,
        )
        rank = len(found.chosen)
        if not rank:
            raise ValueError("The kernel vanishes on all samples; choose another kernel.")
        if rank < self.n_components:
            warnings.warn(
                f"the samples span {rank} dimensions in feature space: {rank} features instead of "
                f"{self.n_components}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.selected_, self.n_components_ = found.chosen, rank
        self.centres_ = self.kernel_.points(X, found.chosen)
        self.factor_, self._signs = found.L, found.signs
        self.mean_ = w @ (found.G * found.signs) if self.center else np.zeros(rank)
        self.contrast_ = found.contrast
        self.explained_variance_ = w @ found.G**2 - self.mean_**2
        self.explained_variance_ratio_ = self.explained_variance_ / found.total
        self.reconstruction_error_ = found.total - np.cumsum(self.explained_variance_)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: PointsLike) -> Array:
        """Project points on the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, or kernel values against all training samples for a precomputed kernel.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._projected(self._checked(X, reset=False))

    def _projected(self, X: PointsLike) -> Array:
        K = np.asarray(self.kernel_(X, self.centres_), dtype=np.float64)
        G = la.solve_triangular(self.factor_, K.T, lower=True).T
        return np.asarray(G * self._signs - self.mean_)

    @available_if(_has_diagonal)
    def score(self, X: PointsLike, y: TargetsLike = None) -> float:
        """Return the share of the variance of new rows in feature space that features reconstruct.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points that were not in the fit, for an honest share.
        y : ignored

        Returns
        -------
        float
            1 for a perfect reconstruction, and never below 0. With `center` the variance is about
            the mean of these rows, else about the origin of feature space.
        """
        X = self._checked(X, reset=False)
        G = self._projected(X) + self.mean_
        n = count(X)
        total = float(np.mean(self.kernel_.diag(X)))
        explained = float(np.sum(np.mean(G**2, axis=0)))
        if self.center:
            evaluate = self.kernel_.against(X)
            blocks = row_slices(n, 8 * n, BLOCK_BYTES)
            total -= sum(float(np.sum(evaluate(take(X, rows)))) for rows in blocks) / n**2
            explained -= float(np.sum(np.mean(G, axis=0) ** 2))
        if not total > 0:
            raise ValueError("The rows do not vary in feature space; give at least two of them.")
        return explained / total
