"""Examine a Gram matrix: spectrum, definiteness, duplicates and alignment with targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer.inspect.printing import PrintedReport
from mercer.inspect.projection import monomials, project
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, count, take
from mercer.regularizers.null_space import NullSpace


@dataclass(frozen=True, repr=False)
class PSDCheck(PrintedReport):
    """The result of :func:`check_psd`."""

    ok: bool
    """Whether the matrix is symmetric and positive semidefinite, up to the tolerance."""

    smallest: float
    """The smallest eigenvalue."""

    largest: float
    """The largest eigenvalue."""

    asymmetry: float
    """The largest difference of an entry and its mirror image."""

    negative_share: float
    """Sum of the negative eigenvalues, by absolute value, as a share of all."""

    tol: float
    """The tolerance, as a share of the largest eigenvalue."""

    def __bool__(self) -> bool:
        return self.ok

    def _title(self) -> str:
        return "positive semidefinite" if self.ok else "not positive semidefinite"

    def _lines(self) -> list[tuple[str, object]]:
        return [
            ("eigenvalues", (self.smallest, self.largest)),
            ("asymmetry", self.asymmetry),
            ("negative share", self.negative_share),
        ]


def check_psd(K: Array, tol: float | None = None) -> PSDCheck:
    r"""Check that a matrix is symmetric with :math:`\lambda_{\min} \ge -\tau \lambda_{\max}`.

    Parameters
    ----------
    K : (n, n) array
    tol : float, optional
        The share :math:`\tau`; n times the machine precision of `K` if not given.

    Returns
    -------
    PSDCheck
        True or false where a truth value is expected.

    References
    ----------
    B. Schoelkopf and A. J. Smola in *Advances in Large Margin Classifiers*, MIT Press 2000,
    theorem 1.11.

    Examples
    --------
    >>> check_psd(np.array([[1.0, 2.0], [2.0, 1.0]]))
    not positive semidefinite
      eigenvalues     -1 to 3
      asymmetry       0
      negative share  0.25
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"A Gram matrix is square, got shape {K.shape}.")
    if tol is None:
        tol = len(K) * float(np.finfo(K.dtype).eps if K.dtype.kind == "f" else np.finfo(float).eps)
    K = K.astype(float)
    asymmetry = float(np.abs(K - K.T).max(initial=0.0))
    values = linalg.eigvalsh(0.5 * (K + K.T))
    scale = float(np.abs(values).max(initial=0.0))
    ok = bool(values.min(initial=0.0) >= -tol * scale and asymmetry <= tol * scale)
    smallest, largest = float(values.min()), float(values.max())
    return PSDCheck(ok, smallest, largest, asymmetry, _negative_share(values), tol)


def repair(K: Array, method: str = "clip") -> Array:
    r"""Return a positive semidefinite matrix near a symmetric matrix.

    Parameters
    ----------
    K : (n, n) array
        Its symmetric part is repaired.
    method : {"clip", "shift", "flip"}, default="clip"
        ``clip`` sets negative eigenvalues to zero, which is the nearest matrix in the Frobenius
        norm; ``shift`` adds :math:`-\lambda_{\min} I`, which changes only the diagonal;
        ``flip`` takes absolute values, which treats negative directions as real ones.

    Returns
    -------
    (n, n) array
        New values for new points do not follow: a repaired matrix is for the sample only.

    Examples
    --------
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> repair(K), repair(K, "shift"), repair(K, "flip")
    (array([[1.5, 1.5], [1.5, 1.5]]), array([[2., 2.], [2., 2.]]), array([[2., 1.], [1., 2.]]))
    """
    K = np.asarray(K, dtype=float)
    K = 0.5 * (K + K.T)
    values, vectors = linalg.eigh(K)
    if method == "shift":
        return np.asarray(K + max(0.0, -float(values[0])) * np.eye(len(K)))
    if method == "clip":
        changed = np.maximum(values, 0.0)
    elif method == "flip":
        changed = np.abs(values)
    else:
        raise ValueError(f"method must be 'clip', 'shift' or 'flip', got {method!r}.")
    result = (vectors * changed) @ vectors.T
    return np.asarray(0.5 * (result + result.T))


def effective_dimension(kernel: Kernel | Array, X: Data | None = None, *, penalty: float) -> float:
    r"""Return how many parameters a machine with the squared loss really has.

    .. math:: d(\lambda) = \operatorname{tr} K (K + \lambda I)^{-1}
              = \sum_j \frac{\lambda_j}{\lambda_j + \lambda}

    Parameters
    ----------
    kernel : Kernel, or (n, n) array
        A kernel, or the Gram matrix itself.
    X : (n, p) points
        With a kernel.
    penalty : float
        The :math:`\lambda > 0` of :math:`\tfrac12 \|y - f\|^2 + \tfrac\lambda2 \|f\|^2`,
        that is 1 / C.

    Returns
    -------
    float

    Examples
    --------
    >>> effective_dimension(np.diag([3.0, 1.0, 0.0]), penalty=1.0)
    1.25
    """
    if not penalty > 0.0:
        raise ValueError(f"penalty must be positive, got {penalty}.")
    values = np.maximum(linalg.eigvalsh(_matrix(kernel, X)), 0.0)
    return float((values / (values + penalty)).sum())


@dataclass(frozen=True, eq=False, repr=False)
class GramReport(PrintedReport):
    """The result of :func:`gram_report`."""

    n: int
    """Points of the sample."""

    used: int
    """Points examined, fewer if the sample is large."""

    eigenvalues: Array
    """In falling order, of the matrix on the complement of what stays free."""

    removed: int
    """Dimension of what stays free and was projected out."""

    rank: int
    """Eigenvalues above n times machine precision, relative to the largest."""

    condition: float
    """Largest eigenvalue over the smallest; infinite for a singular matrix."""

    negative_share: float
    """Sum of the negative eigenvalues, by absolute value, as a share of all."""

    diagonal: tuple[float, float]
    """Smallest and largest value of k(x, x)."""

    constant_share: float
    r"""How much of the trace is along the constant, :math:`1'K1 / (n \operatorname{tr} K)`."""

    dimension: float
    """Effective dimension for the penalty 1 / C with C = 1."""

    duplicates: int
    """Rows that repeat an earlier one, up to rounding of kernel values."""

    alignment: float | None
    r"""Cosine of K and yy', :math:`y'Ky / (\|K\|_F \|y\|^2)`; None without y."""

    centred_alignment: float | None
    """The same after means are removed from K and y."""

    @property
    def ok(self) -> bool:
        """Whether negative eigenvalues are rounding only."""
        values = self.eigenvalues
        tol = len(values) * np.finfo(float).eps * 8.0
        return bool(values.min(initial=0.0) >= -tol * np.abs(values).max(initial=0.0))

    def precision_rank(self, precision: float) -> int:
        """Return the number of eigenvalues above a share of the largest."""
        return int((self.eigenvalues > precision * self.eigenvalues.max(initial=0.0)).sum())

    def _title(self) -> str:
        sampled = f", of which {self.used} examined" if self.used < self.n else ""
        return f"Gram matrix of {self.n} points{sampled}"

    def _lines(self) -> list[tuple[str, object]]:
        values = self.eigenvalues
        return [
            ("eigenvalues", (float(values[-1]), float(values[0])) if len(values) else None),
            ("condition", self.condition),
            ("numerical rank", self.rank),
            ("projected out", self.removed or None),
            ("negative share", self.negative_share),
            ("diagonal", self.diagonal),
            ("constant share", self.constant_share),
            ("effective dimension", self.dimension),
            ("duplicates", self.duplicates),
            ("alignment with y", self.alignment),
            ("centred alignment", self.centred_alignment),
        ]


def gram_report(
    kernel: Kernel | Array,
    X: Data | None = None,
    y: Array | None = None,
    *,
    null_space: NullSpace | None = None,
    max_samples: int = 2000,
    random_state: int = 0,
) -> GramReport:
    r"""Examine the Gram matrix of a sample.

    Parameters
    ----------
    kernel : Kernel, or (n, n) array
        A kernel, or the Gram matrix itself.
    X : (n, p) points
        With a kernel.
    y : (n,) array, optional
        Targets, or labels -1 and 1: how well does the kernel suit them?
    null_space : NullSpace, optional
        What stays free and is projected out; by default what the kernel demands
        (:meth:`~mercer.kernels.Kernel.unpenalized`).
    max_samples : int, default=2000
        A larger sample is examined on a random part of it, because eigenvalues cost
        :math:`O(n^3)`.
    random_state : int, default=0
        Chooses the part.

    Returns
    -------
    GramReport

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff and J. Kandola, *On kernel-target
    alignment*, NIPS 2001.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> gram_report(Gaussian(), np.arange(6.0)[:, None], np.array([1, 1, 1, -1, -1, -1]))
    Gram matrix of 6 points
      eigenvalues          0.07951 to 2.287
      condition            28.77
      numerical rank       6
      negative share       0
      diagonal             1 to 1
      constant share       0.3671
      effective dimension  2.479
      duplicates           0
      alignment with y     0.5089
      centred alignment    0.7307
    """
    n = count(kernel if X is None else X)
    index = np.arange(n)
    if n > max_samples:
        index = np.sort(np.random.default_rng(random_state).permutation(n)[:max_samples])
        kernel = kernel if X is not None else np.asarray(kernel)[np.ix_(index, index)]
        X = None if X is None else take(X, index)
    K = _matrix(kernel, X)
    if y is not None:
        y = np.asarray(y, dtype=float)
        if y.shape != (n,):
            raise ValueError(f"y has shape {y.shape}; for {n} points it must be ({n},).")
        y = y[index]
    B = np.empty((len(K), 0))
    if null_space is not None and X is not None:
        B = null_space(X)
    elif null_space is not None:
        raise ValueError("A null space needs the points X; project the matrix beforehand instead.")
    elif isinstance(kernel, Kernel) and X is not None:
        B = monomials(kernel, X)
    P = project(K, B) if B.shape[1] else K
    values = linalg.eigvalsh(P)[::-1]
    removed = np.linalg.matrix_rank(B) if B.shape[1] else 0
    if removed:  # the projection leaves as many zeros, which are not eigenvalues on the complement
        values = np.delete(values, np.argsort(np.abs(values), kind="stable")[:removed])
    positive = np.maximum(values, 0.0)
    top = float(positive.max(initial=0.0))
    ones = np.ones((len(K), 1))
    return GramReport(
        n=n,
        used=len(K),
        eigenvalues=values,
        removed=int(removed),
        rank=int((values > len(K) * np.finfo(float).eps * top).sum()),
        condition=_ratio(top, float(values.min(initial=top))),
        negative_share=_negative_share(values),
        diagonal=(float(K.diagonal().min()), float(K.diagonal().max())),
        constant_share=float(K.sum() / (len(K) * np.trace(K))) if np.trace(K) else np.nan,
        dimension=float((positive / (positive + 1.0)).sum()),
        duplicates=_duplicates(K),
        alignment=None if y is None else _alignment(K, y),
        centred_alignment=None if y is None else _alignment(project(K, ones), y - y.mean()),
    )


def _matrix(kernel: Kernel | Array, X: Data | None) -> Array:
    if isinstance(kernel, Kernel):
        if X is None:
            raise ValueError("With a kernel, pass the points X; without, pass the Gram matrix.")
        return np.asarray(kernel(X), dtype=float)
    K = np.asarray(kernel, dtype=float)
    if X is not None or K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"Pass a kernel with points, or a square matrix; got shape {K.shape}.")
    return np.asarray(0.5 * (K + K.T))


def _negative_share(values: Array) -> float:
    total = float(np.abs(values).sum())
    return float(np.abs(values[values < 0.0]).sum()) / total if total else 0.0


def _ratio(largest: float, smallest: float) -> float:
    return largest / smallest if smallest > 0.0 else np.inf


def _alignment(K: Array, y: Array) -> float:
    scale = float(np.linalg.norm(K) * (y @ y))
    return float(y @ K @ y) / scale if scale else np.nan


def _duplicates(K: Array) -> int:
    """Count points at distance zero from an earlier point in feature space, up to rounding."""
    diagonal = K.diagonal()
    squared = diagonal[:, None] + diagonal - 2.0 * K
    near = squared <= 16.0 * np.finfo(float).eps * max(
        float(np.abs(diagonal).max(initial=0.0)), 0.0
    )
    return int(np.tril(near, k=-1).any(axis=1).sum())
