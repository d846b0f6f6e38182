"""Gram matrices projected off the unpenalized functions, on the sample and at new points."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, dense_double


def column_space(B: Array) -> Array:
    """Return an orthonormal basis of the columns of `B`, without those that depend on others.

    Columns are scaled to one length first, so that units do not decide on the rank.

    Parameters
    ----------
    B : (n, q) array

    Returns
    -------
    (n, r) array

    Examples
    --------
    >>> column_space(np.array([[1.0, 1000.0], [1.0, 1000.0]])).shape
    (2, 1)
    """
    Q, R = _pivoted(B)
    return Q[:, : _rank(R, len(Q))]


def complement(B: Array) -> Array:
    """Return an orthonormal basis of the complement of the columns of `B`, ``(n, n - r)``."""
    B = np.asarray(B, dtype=float)
    Q, R, _ = linalg.qr(_scaled(B), pivoting=True) if B.shape[1] else (np.eye(len(B)), B, None)
    Z: Array = Q[:, _rank(R, len(Q)) :]
    return Z


def project(K: Array, B: Array) -> Array:
    r"""Return a Gram matrix on the complement of unpenalized functions.

    .. math:: \tilde K = (I - \Pi) K (I - \Pi), \qquad \Pi = Q Q'

    with an orthonormal basis Q of the columns of B. A kernel that is conditionally positive
    definite of order q becomes positive semidefinite if B holds the polynomials of degree below q;
    one column of ones is the centring of kernel PCA.

    Parameters
    ----------
    K : (n, n) array
        Symmetric.
    B : (n, q) array
        Values of the functions that are removed; dependent columns do no harm.

    Returns
    -------
    (n, n) array

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.90), (3.91) and (5.10).

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> K = -np.abs(x[:, None] - x)  # conditionally positive definite of order 1
    >>> (
    ...     bool(np.linalg.eigvalsh(K)[0] < 0),
    ...     bool(np.linalg.eigvalsh(project(K, np.ones((3, 1))))[0] > -1e-12),
    ... )
    (True, True)
    """
    K = np.asarray(K, dtype=float)
    Q = column_space(_checked(B, len(K)))
    half = Q.T @ K
    result = K - Q @ half - half.T @ Q.T + Q @ (half @ Q) @ Q.T
    return np.asarray(0.5 * (result + result.T))


def project_new(K_new: Array, K: Array, B_new: Array, B: Array) -> Array:
    r"""Return projected kernel values of new points against the sample.

    .. math:: \tilde k(x, x_j) = \Bigl\langle \Phi(x) - \sum_l h_l(x) \Phi(x_l), \;
              \Phi(x_j) - \sum_l h_l(x_j) \Phi(x_l) \Bigr\rangle,
              \qquad h(x)' = b(x)' (B'B)^{-1} B'

    The new points lose the same functions as the sample: for new points that are the sample this is
    :func:`project`, and for a column of ones it is the centring with the means of the sample.

    Parameters
    ----------
    K_new : (m, n) array
        Kernel values of new points against the sample.
    K : (n, n) array
        Those of the sample.
    B_new : (m, q) array
        The functions at the new points.
    B : (n, q) array
        The functions at the sample.

    Returns
    -------
    (m, n) array

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 5.1.2.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> ones = np.ones((2, 1))
    >>> bool(np.allclose(project_new(K, K, ones, ones), project(K, ones)))
    True
    """
    K_new, K, B_new = (np.asarray(A, dtype=float) for A in (K_new, K, B_new))
    B = _checked(B, len(K))
    if K_new.shape[1] != len(K) or B_new.shape != (len(K_new), B.shape[1]):
        raise ValueError(
            f"K_new has shape {K_new.shape} and B_new {B_new.shape}; for a sample of {len(K)} "
            f"with {B.shape[1]} functions they must be (m, {len(K)}) and (m, {B.shape[1]})."
        )
    weights = linalg.lstsq(B.T, B_new.T)[0].T if B.shape[1] else np.zeros_like(K_new)
    Q = column_space(B)
    difference = K_new - weights @ K
    return np.asarray(difference - (difference @ Q) @ Q.T)


class MercerMap:
    r"""The features of a kernel on a sample, and of new points.

    .. math:: K = U \Lambda U', \qquad \Phi(x_i) = (\sqrt{\lambda_j} U_{ij})_j, \qquad
              \Phi(x) = \Lambda^{-1/2} U' k(x)

    Inner products of the features are kernel values, exactly on the sample; for a new point they
    are those of its projection on the span of the sample. They turn a kernel machine into a
    linear one.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (n, p) points
    n_components : int, optional
        How many features to keep, those with the largest eigenvalues.
    tol : float, optional
        Eigenvalues below this share of the largest are dropped; n times machine precision if not
        given, because what lies below is rounding.

    Attributes
    ----------
    eigenvalues : (r,) array
        In falling order.
    vectors : (n, r) array
        Eigenvectors U of the Gram matrix.
    features : (n, r) array
        Those of the sample.

    References
    ----------
    B. Schoelkopf and A. J. Smola in *Advances in Large Margin Classifiers*, MIT Press 2000,
    eq. (1.68).

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> phi = MercerMap(Polynomial(degree=2), X)
    >>> phi.features.shape  # x1^2, x1 x2, x2^2 span three dimensions
    (4, 3)
    >>> (phi([[3.0, 1.0]]) @ phi.features.T).round(10)
    array([[ 9.,  1., 16., 25.]])
    """

    def __init__(
        self, kernel: Kernel, X: Data, n_components: int | None = None, tol: float | None = None
    ) -> None:
        self.kernel, self.X = kernel, X
        K = kernel(X)
        values, vectors = linalg.eigh(np.asarray(K, dtype=float))
        values, vectors = values[::-1], vectors[:, ::-1]
        share = len(K) * np.finfo(float).eps if tol is None else float(tol)
        if values[-1] < -max(share, 1e-9) * values[0]:
            raise ValueError(
                f"The Gram matrix has the eigenvalue {values[-1]:.3g}: only a positive definite "
                "kernel has real features. Use mercer.inspect.repair, or project the null space."
            )
        kept = int((values > share * values[0]).sum())
        kept = kept if n_components is None else min(kept, int(n_components))
        self.eigenvalues: Array = values[:kept]
        self.vectors: Array = vectors[:, :kept]
        self.features: Array = self.vectors * np.sqrt(self.eigenvalues)

    def __call__(self, X: Data) -> Array:
        """Return the features of new points.

        Parameters
        ----------
        X : (m, p) points

        Returns
        -------
        (m, r) array
        """
        features: Array = self.kernel(X, self.X) @ (self.vectors / np.sqrt(self.eigenvalues))
        return features

    def __repr__(self) -> str:
        return f"MercerMap({self.kernel!r}, {self.features.shape[1]} features)"


def monomials(kernel: Kernel, X: Data) -> Array:
    """Return the monomials that a kernel leaves unpenalized, at the points, ``(n, q)``.

    Features are shifted and scaled to [-1, 1], which changes the basis and not its span.
    """
    if not kernel.order or not kernel.numeric:
        return np.empty((X.shape[0] if hasattr(X, "shape") else len(X), 0))
    X = dense_double(X)
    middle = 0.5 * (X.max(axis=0) + X.min(axis=0))
    reach = np.ptp(X, axis=0) / 2.0
    X = (X - middle) / np.where(reach > 0.0, reach, 1.0)
    columns = [X[:, list(m)].prod(axis=1) for m in kernel.unpenalized(X.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty((len(X), 0))


def _checked(B: Array, n: int) -> Array:
    B = np.asarray(B, dtype=float)
    if B.ndim != 2 or len(B) != n:
        raise ValueError(f"B has shape {B.shape}; for {n} points it must be ({n}, q).")
    return B


def _scaled(B: Array) -> Array:
    lengths = np.linalg.norm(B, axis=0)
    return B / np.where(lengths > 0.0, lengths, 1.0)


def _pivoted(B: Array) -> tuple[Array, Array]:
    B = np.asarray(B, dtype=float)
    if not B.shape[1]:
        return B, B
    Q, R, _ = linalg.qr(_scaled(B), mode="economic", pivoting=True)
    return Q, R


def _rank(R: Array, n: int) -> int:
    """Count diagonal entries above rounding; pivoting makes them fall."""
    diagonal = np.abs(np.diagonal(R))
    return int((diagonal > n * np.finfo(float).eps * diagonal[:1].max(initial=0.0)).sum())
