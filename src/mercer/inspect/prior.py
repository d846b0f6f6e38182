"""Sample paths of the Gaussian prior that belongs to a penalty."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.spatial.distance import pdist

from mercer._params import check_integer
from mercer.inspect.projection import complement, monomials
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, as_points, dense_double


def sample_paths(
    kernel: Kernel, X: Data, n_paths: int = 3, random_state: int | np.random.Generator | None = None
) -> Array:
    r"""Draw functions that a penalty considers typical.

    The penalty :math:`\tfrac12 \|f\|^2` is minus the logarithm of a prior density: a Gaussian
    process with covariance k. For a conditionally positive definite kernel the prior is flat on
    what stays free, and the paths are drawn on its complement: they are orthogonal, on the points,
    to these polynomials.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, or conditionally so.
    X : (n, p) points
    n_paths : int, default=3
    random_state : int or Generator, optional
        The same seed draws the same paths, up to rounding, from dense and sparse rows.

    Returns
    -------
    (n, n_paths) array

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.10; B. Schoelkopf and A. J. Smola
    in *Advances in Large Margin Classifiers*, MIT Press 2000, eq. (1.82).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> sample_paths(Gaussian(), np.linspace(0, 1, 50)[:, None], random_state=0).shape
    (50, 3)
    """
    check_integer("n_paths", n_paths, 1)
    K = np.asarray(kernel(X), dtype=float)
    if not np.isfinite(K).all():
        raise ValueError(
            "The kernel values of X are not finite: leave out or impute rows with NaN or infinity, "
            "or scale the features."
        )
    Z = complement(monomials(kernel, X))
    values, vectors = linalg.eigh(Z.T @ K @ Z)
    noise = len(K) * np.finfo(float).eps * float(np.linalg.norm(K))
    if values.min(initial=0.0) < -max(noise, 1e-9 * float(values.max(initial=0.0))):
        raise ValueError(
            f"The Gram matrix has the eigenvalue {values[0]:.3g}: the kernel is not positive "
            "definite and no prior has it as its covariance."
        )
    rng = np.random.default_rng(random_state)
    normal = Z.T @ rng.standard_normal((len(K), n_paths))
    # The symmetric root depends on the matrix alone, not on signs or bases of eigenvectors.
    roots = np.sqrt(np.maximum(values, 0.0))[:, None]
    paths: Array = Z @ (vectors @ (roots * (vectors.T @ normal)))
    return paths


def default_width(
    X: Data, quantile: float = 0.5, max_samples: int = 1000, random_state: int = 0
) -> float:
    r"""Return a length scale to start from: the median distance of two points.

    Parameters
    ----------
    X : (n, p) points
    quantile : float, default=0.5
        Another quantile of the distances: 0.1 for rougher functions.
    max_samples : int, default=1000
        Of a larger sample a random part is used.
    random_state : int, default=0
        Chooses the part.

    Returns
    -------
    float
        Positive; 1 if all points coincide.

    Notes
    -----
    It has the right order of magnitude, no more: width matters more than the family of the kernel,
    too small memorizes the sample, too large smooths everything away, and cross-validation decides.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5.

    Examples
    --------
    >>> default_width(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    X = as_points(X)
    if X.shape[0] > max_samples:
        X = X[np.random.default_rng(random_state).permutation(X.shape[0])[:max_samples]]
    distances = pdist(dense_double(X))
    positive = distances[distances > 0.0]
    return float(np.quantile(positive, quantile)) if len(positive) else 1.0
