"""Kernel principal component analysis."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._params import check_sample_weight, is_integer
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import (
    Array,
    Constraints,
    Function,
    PointsLike,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.data.base import Block
from mercer.data.opening import is_source
from mercer.gram.base import Gram
from mercer.gram.indexed import Indexed
from mercer.gram.make import KINDS
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.kernels.points import take
from mercer.machines.evaluating import expand, kernel_matrix
from mercer.machines.expansion import Expansion, IndefiniteKernel, bind_names, store
from mercer.machines.folds import as_splitter
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.low_rank import by_blocks
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import unpenalized_columns
from mercer.manifold.block_moments import vary
from mercer.manifold.centring import centre
from mercer.manifold.component_count import CRITERIA, All, BrokenStick, Fixed, Rule, Share
from mercer.manifold.component_criteria import ROWS, held_out, parallel
from mercer.manifold.inverse import INVERSES, find_preimages, some_rows
from mercer.manifold.preimages import Preimages
from mercer.manifold.principal import Principal, by_rule, signs_of
from mercer.manifold.streamed_components import fit_blocks
from mercer.reduced.base import Approximation
from mercer.regularizers.null_space import Constant, Empty, NullSpace, Polynomial, complete

__all__ = ["KernelPCA"]

SPACES = {"constant": Constant, "linear": Polynomial}


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
        of a stick broken at random. "parallel" (parallel analysis): as long as an eigenvalue
        exceeds 95 % of those of samples whose columns are shuffled. "held-out": as long as a
        component lowers the reconstruction error of held-out rows, in feature space, by more than
        a random direction would, by three standard errors. The last two look at no more than 1000
        rows. All whose eigenvalue is not zero by default.
    kernel : Kernel, str or callable, default="rbf"
        Any kernel of the library or its name, a function of two samples, or "precomputed".
        Conditionally positive definite kernels have their polynomials projected out. Of an
        indefinite kernel the eigenvalues of largest size are kept, with a warning.
    gamma : {"scale", "auto", "median"} or float, default="scale"
        Width of the kernel as in :func:`mercer.kernels.named.resolve`; "scale" reads the weighted
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
    approximation : Nystrom, RandomFeatures or None, default=None
        Components among the functions of a low-rank approximation, by two passes over the rows.
        Rows in blocks, from files or Dask, are always approximated; ``Nystrom()`` by default, with
        as many centres as leave a hundredth of the diagonal. Eigenvalues of Nystrom are at most
        those of the kernel matrix, and their bound is the trace that the centres leave.
    inverse : {"penalized", "ridge", "fixed_point"}, default="penalized"
        How scores lead back to inputs. "ridge": kernel ridge regression of the inputs on the
        scores, with at most 2000 samples. "penalized": the nearest image, with a penalty on the
        distance to the ridge map's answer that makes it stable. "fixed_point": the nearest image
        without a penalty, by an iteration for the Gaussian kernel.
    alpha : float, default=1.0
        Penalty of the ridge map.
    penalty : float, default=0.01
        Squared distance in feature space, in units of its mean, that a pre-image gives up to be
        one standard deviation of its features nearer to the ridge map's answer.
    gram : {"auto", "dense", "sparse", "tiled"} or callable, default="auto"
        How the kernel matrix is held. "auto" holds it while it takes at most `cache_size`, and
        computes it anew, tile by tile, in every product otherwise.
    cache_size : float, default=200
        Megabytes granted to the kernel matrix.
    cv : int, splitter or iterable, default=5
        Folds of the criterion "held-out".
    random_state : int, default=0
        Seed of the start of the iterations, of shuffled columns and of folds.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the matrix, descending; by size for an indefinite kernel.
    eigenvectors_ : ndarray of shape (n_support, n_components)
        Orthonormal eigenvectors u, unless the kernel is approximated. The largest score of the
        sample is positive.
    eigenvalue_errors_ : ndarray of shape (n_components,)
        Bounds on the errors of the eigenvalues, rounding included: the matrix has as many
        eigenvalues, each within one of these intervals. NaN for random features, whose kernel is
        another.
    remainder_ : float
        A bound on the size of all eigenvalues that are not among ``eigenvalues_``: those above it
        are certainly the leading ones. Iterations know the trace only, which bounds loosely.
    explained_variance_ : ndarray of shape (n_components,)
        Weighted mean of the squared scores, ``eigenvalues_`` over the sum of weights.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the trace of the matrix; of a bound on the trace, so at most this share, for an
        approximation. For an indefinite kernel it may be negative or above one.
    signature_ : ndarray of shape (n_components,)
        Signs of the eigenvalues; all one unless the kernel is indefinite.
    n_components_ : int
        Number of components.
    dual_coef_ : ndarray of shape (n_components, n_support)
        Coefficients of the kernel in the scores.
    null_space_coef_ : ndarray of shape (n_components, q)
        Coefficients of the functions that were projected out, ``null_space_names_``.
    kernel_ : Kernel
        The kernel with its parameters.
    support_ : ndarray of shape (n_support,)
        Samples with a weight, or rows that are centres of an approximation.
    X_fit_ : ndarray of shape (n_support, n_features)
        These samples.
    n_iter_ : int
        Products of the matrix with vectors or blocks of vectors.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, (5.1)-(5.10); B. Schoelkopf, A. Smola and
    K.-R. Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural
    Computation 10, 1998. Pre-images: S. Mika et al., *Kernel PCA and de-noising in feature spaces*,
    NIPS 11, 1999; T. J. Abrahamsen and L. K. Hansen, *Input space regularization stabilizes
    pre-images for kernel PCA de-noising*, IEEE MLSP 2009.

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

    And back: points off the ring return to it.

    >>> pca = KernelPCA(10, gamma=1.0).fit(X)
    >>> pca.inverse_transform(pca.transform([[1.2, 0.0], [0.0, 1.15]])).round(1) + 0.0
    array([[1., 0.],
           [0., 1.]])
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
    approximation: Approximation | None = None
    inverse: str = "penalized"
    alpha: float = 1.0
    penalty: float = 0.01
    gram: str | Function = "auto"
    cache_size: float = 200
    cv: SplitterLike = 5
    random_state: int = 0

    _parameter_constraints: ClassVar[Constraints] = {
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
        "approximation": [Approximation, None],
        "inverse": [StrOptions({*INVERSES})],
        "alpha": [Interval(Real, 0.0, None, closed="neither")],
        "penalty": [Interval(Real, 0.0, None, closed="left")],
        "gram": [StrOptions({*KINDS}), callable],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "cv": ["cv_object"],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    # Fitting -------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Find the components of a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Source
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``. Rows may
            also come in blocks, from files by :func:`mercer.data.open` or from Dask.
        y : ignored
            Present for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, not negative: a weight of two counts a sample twice, and a
            sample of weight zero is left out.

        Returns
        -------
        self
        """
        if self.approximation is not None or is_source(X):
            fit_blocks(self, X, sample_weight)
        else:
            self._fit_sample(X, sample_weight)
        return self

    def _fit_sample(self, X: PointsLike, sample_weight: WeightsLike) -> None:
        """Find the components of the kernel matrix of a sample."""
        admitted = self._check_X(X, None)
        X = admitted[0] if isinstance(admitted, tuple) else admitted
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        weights = check_sample_weight(sample_weight, n)
        kept = np.flatnonzero(weights > 0.0)
        if len(kept) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two samples with a weight, and got n_samples = "
                f"{len(kept)}."
            )
        K = self._make_gram(Rows(X, None, weights))
        if K.held:
            K.dense()  # every product reads all of it
        B = unpenalized_columns(self, X, self._space())
        if len(kept) < n:
            K, B, weights = Indexed(K, kept), B[kept], weights[kept]
        rule = self._rule(
            X if is_function(self.kernel) or len(kept) == n else take(X, kept), K, B, weights
        )
        found = self._decompose(K, B, weights, rule)
        pairs = found.pairs
        found = found.turned(
            signs_of(pairs.vectors * np.sign(pairs.values) / np.sqrt(weights)[:, None])
        )
        self._functions = None
        self._keep(found)
        store(self, X, kept, found.A)
        heavy = weights if len(kept) == n else np.bincount(kept, weights, minlength=n)
        self._reference = None if is_precomputed(self.kernel) else some_rows(X, heavy)
        self.eigenvectors_ = found.pairs.vectors

    def _of_width(self, variance: float) -> Kernel:
        """Return the kernel of a name with the width that a variance of the inputs has."""
        spread = variance * self.shape_fit_[-1]
        gamma = 1.0 / spread if spread > 0.0 else 1.0
        return bind_names(self, NAMES[str(self.kernel)](gamma, self.degree, self.coef0))

    def _space(self) -> NullSpace:
        """Return the functions that are projected out, without those that the kernel needs."""
        space = self.null_space
        given = SPACES[space]() if isinstance(space, str) else space
        given = Empty() if given is None else given
        return complete(given, [()], self.shape_fit_[-1]) if self.center else given

    def _resolved(self, rows: Rows) -> Kernel:
        """Return the kernel; its width follows the weighted variance, so a row twice counts two."""
        s = np.asarray(rows.weights)
        named = isinstance(self.kernel, str) and self.kernel in NAMES
        if named and self.gamma == "scale" and np.ptp(s):
            return self._of_width(vary(Block(rows.X, None, s), None, None).variance)
        return super()._resolved(rows)

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Say nothing before the eigenvalues are known."""

    def _rule(self, X: PointsLike, K: Gram, B: Array, weights: Array) -> Rule:
        """Return how the number of components is decided, for rows with positive weights."""
        number = self.n_components
        if number is None:
            return All()
        if is_integer(number):
            return Fixed(int(number))
        if not isinstance(number, str):
            return Share(float(number))
        if number == "broken-stick":
            return BrokenStick()
        if not self._definite or (is_precomputed(self.kernel) and number == "parallel"):
            raise ValueError(
                f"n_components={number!r} needs a positive definite kernel"
                f"{' of rows of numbers' if number == 'parallel' else ''}; give a number, a share "
                "of the variance, or 'broken-stick'."
            )
        some = np.unique(np.linspace(0, len(weights) - 1, min(len(weights), ROWS)).astype(int))
        if number == "parallel":
            points, s, seed = take(X, some), weights[some], self.random_state
            return Fixed(parallel(self.kernel_, points, self.null_space_, s, seed))
        matrix = np.asarray(K.block(some, some), dtype=np.float64)
        splitter = as_splitter(self.cv, None, self.random_state)
        strictly = self.kernel_.order == 0 and not is_precomputed(self.kernel)
        return Fixed(held_out(matrix, B[some], weights[some], splitter, strictly))

    def _decompose(self, K: Gram, B: Array, weights: Array, rule: Rule) -> Principal:
        """Return the components of a matrix off some columns."""
        definite = self._definite and not is_precomputed(self.kernel)
        strictly = definite and self.kernel_.order == 0
        centred = centre(K, B, weights, definite, strictly)
        if not np.isfinite(centred.spectrum.trace):
            raise ValueError("The kernel overflows on this sample; scale the inputs.")
        how: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        rank = len(weights) - centred.KU.shape[1]
        pairs = by_rule(
            centred.spectrum, rank, rule, self.eigen_solver, seed=self.random_state, **how
        )
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
        return Principal(pairs, A, b, spectrum.trace, float(weights.sum()), centred.H, centred.Q)

    def _keep(self, found: Principal) -> None:
        """Store eigenvalues and what they explain."""
        pairs = found.pairs
        self.eigenvalues_, self.eigenvalue_errors_ = pairs.values, pairs.errors
        self.remainder_, self.n_iter_ = pairs.remainder, pairs.n_iter
        self.n_components_ = len(pairs.values)
        self.explained_variance_ = pairs.values / found.weight
        self.explained_variance_ratio_ = pairs.values / found.trace
        self.signature_ = np.sign(pairs.values).astype(int)
        self.null_space_coef_ = found.b
        self._mean_parts = (found.H, found.Q)

    # New points ----------------------------------------------------------------------------------

    @by_blocks
    def transform(self, X: PointsLike) -> Array:
        """Return the scores of points, their coordinates along the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Source
            Inputs, also in blocks; for ``kernel="precomputed"`` kernel values between them and the
            training samples, ``(n_samples, n_train)``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._scores(self._check_new(X))

    def _scores(self, X: PointsLike) -> Array:
        """Return the scores of points that were checked."""
        free = self.null_space_(X) @ self.null_space_coef_.T
        return np.asarray(expand(self, X, self._dual_coef_.T) + free)

    def inverse_transform(self, X: PointsLike) -> Array:
        """Return points whose images are near what scores describe; see :meth:`preimages`.

        ``inverse_transform(transform(X))`` denoises X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self.preimages(X).points

    def preimages(self, X: PointsLike) -> Preimages:
        """Return pre-images of scores, with their distances and the spread over starts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        Preimages
            ``points``, ``distances`` in feature space, ``spread``: the root mean square over four
            starts of the distance between where a search ended and the pre-image (zero for the
            ridge map, which has no starts), and ``converged``.
        """
        check_is_fitted(self)
        scores = check_array(X, dtype=np.float64)
        if scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {scores.shape[1]} scores, but {type(self).__name__} has "
                f"{self.n_components_} components."
            )
        return find_preimages(self, scores)

    def _as_fitted(self, X: Array) -> Any:
        """Return dense points in the form of the sample, sparse or dense."""
        return sp.csr_array(X) if self._sparse else X

    def _kernel_rows(self, X: Array) -> Array:
        """Return kernel values or features of points, of which scores are sums."""
        if self._functions is not None:
            return np.asarray(self._functions.raw(X))
        if self._X_fit is not None:
            return kernel_matrix(self._kernel_fit, X, self._X_fit)[:, self.support_]
        return np.asarray(self.kernel_(self._as_fitted(X), self.support_vectors_))

    def _diagonal(self, X: Array) -> Array:
        """Return the kernel of every point with itself."""
        if self._X_fit is None:
            return np.asarray(self.kernel_.diag(X))
        return np.array([kernel_matrix(self._kernel_fit, x[None], x[None])[0, 0] for x in X])

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
