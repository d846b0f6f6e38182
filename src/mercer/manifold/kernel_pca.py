"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._params import is_integer
from mercer._settings import KW_ONLY, settings
from mercer.gram.base import Gram
from mercer.gram.indexed import Indexed
from mercer.gram.make import KINDS
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.kernels.points import is_sparse
from mercer.machines.base import EarlyStop
from mercer.machines.expansion import (
    Array,
    Expansion,
    Function,
    IndefiniteKernel,
    check_weights,
)
from mercer.machines.posing import Rows
from mercer.manifold.centring import Centred, centre
from mercer.manifold.components import CRITERIA, All, BrokenStick, Fixed, Rule, Share
from mercer.manifold.eigen import EPS, Eigenpairs, leading
from mercer.regularizers.null_space import Constant, Empty, NullSpace, Polynomial, complete

__all__ = ["KernelPCA"]

SPACES = {"constant": Constant, "linear": Polynomial}

ZERO = 1e-12
"""Part of the largest eigenvalue below which rounding of kernel values decides, at least."""


@dataclass(frozen=True)
class Found:
    """Components of a sample: eigenvalues, and the functions whose values are scores."""

    pairs: Eigenpairs
    A: Array
    b: Array
    trace: float
    total: float
    H: Array
    Q: Array


@settings
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Expansion):  # type: ignore[misc]
    r"""Kernel principal component analysis: directions of largest variance in feature space.

    .. math:: \tilde K u = \lambda u, \qquad
              \tilde K = (1 - P) S^{1/2} K S^{1/2} (1 - P), \qquad
              z_j(x) = \lambda_j^{-1/2} \sum_i s_i^{1/2} u_{ij}\, \tilde k(x, x_i)

    P projects on the constant, which subtracts the mean in feature space, and on all other
    functions that are asked for or that the kernel needs; S holds the weights. Scores of the
    sample are uncorrelated, orthogonal to these functions, and :math:`\sum_i s_i z_{ij}^2 =
    \lambda_j`. New points are projected by the same functions as the sample.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components; between 0 and 1, the share of the variance that they explain at
        least; or a criterion. "broken-stick": as long as a component explains more than its piece
        of a stick broken at random. All whose eigenvalue is not zero by default.
    kernel : Kernel, str or callable, default="rbf"
        Any kernel of the library or its name, a function of two samples, or "precomputed".
        Conditionally positive definite kernels have their polynomials projected out. Of an
        indefinite kernel the eigenvalues of largest size are kept, with a warning.
    gamma : {"scale", "auto", "median"} or float, default="scale"
        Width of the kernel as in :func:`mercer.kernels.resolve`; "scale" reads the weighted
        variance.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0.0
        Of the polynomial and the sigmoid kernel.
    center : bool, default=True
        Subtract the mean in feature space.
    null_space : {"constant", "linear"}, NullSpace or None, default=None
        Functions to project out besides: components then are orthogonal to them on the sample.
        "linear" leaves out everything that linear PCA can find.
    eigen_solver : {"auto", "dense", "iterative", "randomized"}, default="auto"
        LAPACK; Lanczos iterations, which multiply by the matrix and need not hold it; a block
        Krylov iteration from a random start, with few passes over a matrix that is not held.
        "auto" is dense for up to 1000 samples or most of the components.
    tol : float, default=1e-8
        Largest error of an eigenvalue by the two iterations, relative to the largest eigenvalue.
    max_iter : int, default=200
        Most restarts or passes of the two iterations.
    gram : {"auto", "dense", "sparse", "tiled"} or callable, default="auto"
        How the kernel matrix is held. "auto" holds it while it takes at most `cache_size`, and
        computes it anew, tile by tile, in every product otherwise.
    cache_size : float, default=200
        Megabytes granted to the kernel matrix.
    random_state : int, default=0
        Seed of the start of the iterations.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Eigenvalues of the matrix, descending; by size for an indefinite kernel.
    eigenvectors_ : ndarray of shape (n_samples, n_components_)
        Orthonormal eigenvectors u. The largest score of the sample is positive.
    eigenvalue_errors_ : ndarray of shape (n_components_,)
        Bounds on the errors of the eigenvalues, rounding included.
    remainder_ : float
        A bound on the size of all eigenvalues that are not among ``eigenvalues_``, in a matrix
        of which not all were computed.
    explained_variance_ : ndarray of shape (n_components_,)
        Weighted mean of the squared scores, ``eigenvalues_`` over the sum of weights.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the trace of the matrix. For an indefinite kernel it may be negative or above one.
    signature_ : ndarray of shape (n_components_,)
        Signs of the eigenvalues; all one unless the kernel is indefinite.
    n_components_ : int
        Number of components.
    dual_coef_ : ndarray of shape (n_components_, n_support)
        Coefficients of the kernel in the scores.
    null_space_coef_ : ndarray of shape (n_components_, q)
        Coefficients of the functions that were projected out, ``null_space_names_``.
    kernel_ : Kernel
        The kernel with its parameters.
    support_ : ndarray of shape (n_support,)
        Samples with a weight.
    X_fit_ : ndarray of shape (n_support, n_features)
        These samples.
    n_iter_ : int
        Products of the matrix with vectors or blocks of vectors.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they have any.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, (5.1)-(5.10); B. Schoelkopf, A. Smola and
    K.-R. Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural
    Computation 10, 1998.

    Examples
    --------
    A ring around a blob; as many components as explain more than chance.

    >>> import numpy as np
    >>> from mercer.manifold import KernelPCA
    >>> t = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.c_[np.cos(t), np.sin(t)]
    >>> X = np.vstack([ring, 0.2 * ring])
    >>> pca = KernelPCA("broken-stick", gamma=1.0).fit(X)
    >>> pca.explained_variance_ratio_.round(2)
    array([0.24, 0.24, 0.24, 0.09, 0.09])

    The first component tells the ring from the blob.

    >>> scores = pca.transform(X)[:, 0]
    >>> np.abs(scores[:40].mean() - scores[40:].mean()).round(3), scores[:40].std().round(3)
    (np.float64(0.705), np.float64(0.0))
    """

    n_components: int | float | str | None = None
    _: KW_ONLY
    kernel: Kernel | str | Function = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    center: bool = True
    null_space: NullSpace | str | None = None
    eigen_solver: str = "auto"
    tol: float = 1e-8
    max_iter: int = 200
    gram: str | Function = "auto"
    cache_size: float = 200
    random_state: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0.0, 1.0, closed="neither"),
            StrOptions({*CRITERIA}),
            None,
        ],
        "kernel": [StrOptions({*FREE, *NAMES}), callable],
        "gamma": [
            StrOptions({"scale", "auto", "median"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "center": ["boolean"],
        "null_space": [NullSpace, StrOptions({*SPACES}), None],
        "eigen_solver": [StrOptions({"auto", "dense", "iterative", "randomized"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "gram": [StrOptions({*KINDS}), callable],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    # Fitting -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``.
        y : ignored
            Present for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: a weight of two counts a sample twice, and a sample whose
            weight is not positive is left out.

        Returns
        -------
        self
        """
        admitted = self._check_X(X, None)
        X = admitted[0] if isinstance(admitted, tuple) else admitted
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        weights = check_weights(sample_weight, n)
        kept = np.flatnonzero(weights > 0.0)
        if len(kept) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two samples with a weight, and got n_samples = "
                f"{len(kept)}."
            )
        K = self._make_gram(Rows(X, None, weights))
        B = self._free_columns(X, self._space())
        if len(kept) < n:
            K, B, weights = Indexed(K, kept), B[kept], weights[kept]
        found = self._decompose(K, B, weights)
        signs = _signs(found.pairs.vectors / np.sqrt(weights)[:, None])
        signs *= np.sign(found.pairs.values)
        self._keep(found, signs)
        self._store(X, kept, found.A * signs)
        self.eigenvectors_ = found.pairs.vectors * signs
        return self

    def _space(self) -> NullSpace:
        """Return the functions that are projected out, without those that the kernel needs."""
        space = self.null_space
        given = SPACES[space]() if isinstance(space, str) else space
        given = Empty() if given is None else given
        return complete(given, [()], self.shape_fit_[-1]) if self.center else given

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel:
        """Return the kernel; its width follows the weighted variance, so a row twice counts two."""
        s = np.asarray(rows.weights)
        named = isinstance(self.kernel, str) and self.kernel in NAMES
        if gamma is None and named and self.gamma == "scale" and np.ptp(s):
            gamma = _weighted_scale(rows.X, s)
        if gamma is None:
            return super()._resolved(rows)
        made = NAMES[str(self.kernel)](gamma, self.degree, self.coef0)
        return self._bound(made)

    def _warn_if_indefinite(self, X: Any) -> None:
        """Say nothing before the eigenvalues are known."""

    def _rule(self) -> Rule:
        """Return how the number of components is decided."""
        number = self.n_components
        if number is None:
            return All()
        if number == "broken-stick":
            return BrokenStick()
        return Fixed(int(number)) if is_integer(number) else Share(float(number))

    def _decompose(self, K: Gram, B: Array, weights: Array) -> Found:
        """Return the components of a matrix off some columns."""
        definite = self._definite and not self._precomputed
        strictly = definite and self.kernel_.order == 0
        centred = centre(K, B, weights, definite, strictly)
        if not np.isfinite(centred.spectrum.trace):
            raise ValueError("The kernel overflows on this sample; scale the inputs.")
        pairs = self._pairs(centred)
        if not pairs.converged:
            warnings.warn(
                f"{self.eigen_solver} eigenvalues stopped after {pairs.n_iter} products with an "
                f"error of up to {np.max(pairs.errors):.2g}; raise max_iter or tol.",
                EarlyStop,
                stacklevel=3,
            )
        if np.any(pairs.values < 0.0):
            warnings.warn(
                f"The kernel is indefinite on this sample: {int(np.sum(pairs.values < 0.0))} of "
                f"{len(pairs.values)} components have negative eigenvalues. Their scores are those "
                "of a pseudo-Euclidean space, where variances and distances lose their meaning.",
                IndefiniteKernel,
                stacklevel=3,
            )
        A, b = centred.coefficients(pairs.values, pairs.vectors)
        spectrum = centred.spectrum
        return Found(pairs, A, b, spectrum.trace, float(weights.sum()), centred.H, centred.Q)

    def _pairs(self, centred: Centred) -> Eigenpairs:
        """Return as many leading eigenpairs as the rule keeps."""
        spectrum, rule = centred.spectrum, self._rule()
        rank = spectrum.n - centred.KU.shape[1]
        how: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        k = rule.first(rank)
        while True:
            pairs = leading(spectrum, k, self.eigen_solver, seed=self.random_state, **how)
            floor = max(ZERO, spectrum.n * EPS) * np.max(np.abs(pairs.values), initial=0.0)
            size = pairs.values if spectrum.definite else np.abs(pairs.values)
            nonzero = int(np.sum(size > max(floor, spectrum.noise)))
            if not nonzero:
                raise ValueError(
                    "All samples are the same point in feature space, or combinations of what is "
                    "projected out: there is no component. Is n_samples = 1 or the kernel constant?"
                )
            every = k is None or nonzero < len(pairs.values)
            kept = rule.keep(pairs.values[:nonzero], spectrum.trace, nonzero if every else rank)
            if kept is None and k is not None:
                k = None if 4 * k > spectrum.n else 2 * k
                continue
            return _first(pairs, nonzero if kept is None else min(kept, nonzero))

    def _keep(self, found: Found, signs: Array) -> None:
        """Store eigenvalues and the coefficients of scores."""
        pairs = found.pairs
        self.eigenvalues_, self.eigenvalue_errors_ = pairs.values, pairs.errors
        self.remainder_, self.n_iter_ = pairs.remainder, pairs.n_iter
        self.n_components_ = len(pairs.values)
        self.explained_variance_ = pairs.values / found.total
        self.explained_variance_ratio_ = pairs.values / found.trace
        self.signature_ = np.sign(pairs.values).astype(int)
        self.null_space_coef_ = found.b * signs[:, None]

    # New points ----------------------------------------------------------------------------------

    def transform(self, X: Any) -> Array:
        """Return the scores of points, their coordinates along the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; kernel values between them and the training samples, ``(n_samples, n_train)``,
            for ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        X = self._check_new(X)
        free = self.null_space_(X) @ self.null_space_coef_.T
        return np.asarray(self._expand(X, self._dual_coef_.T) + free)

    @property
    def X_fit_(self) -> Any:
        """The samples with a weight."""
        return self._X_fit if self._X_fit is not None else self.support_vectors_

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _first(pairs: Eigenpairs, k: int) -> Eigenpairs:
    """Return the first of some pairs; the next of them bounds the others."""
    rest = pairs.remainder
    if k < len(pairs.values):
        rest = max(rest, float(np.max(np.abs(pairs.values[k:]) + pairs.errors[k:])))
    return replace(
        pairs,
        values=pairs.values[:k],
        vectors=pairs.vectors[:, :k],
        errors=pairs.errors[:k],
        remainder=rest,
    )


def _signs(scores: Array) -> Array:
    """Return signs that make the largest score of every component positive.

    Of scores that are equally large up to rounding the first decides.
    """
    sizes = np.abs(scores)
    first = np.argmax(sizes > (1.0 - 1e-6) * np.max(sizes, axis=0), axis=0)
    return np.where(scores[first, np.arange(scores.shape[1])] < 0.0, -1.0, 1.0)


def _weighted_scale(X: Any, s: Array) -> float:
    """Return one over the number of features times the weighted variance of all entries."""
    if is_sparse(X):
        X = X.multiply(s[:, None]).tocsr(), X.multiply(X).multiply(s[:, None]).tocsr()
        total = s.sum() * X[0].shape[1]
        variance = float(X[1].sum() / total - (X[0].sum() / total) ** 2)
        return 1.0 / (X[0].shape[1] * variance) if variance > 0.0 else 1.0
    total = s.sum() * X.shape[1]
    mean = float(np.sum(s @ X)) / total
    variance = float(np.sum(s @ (X - mean) ** 2)) / total
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
