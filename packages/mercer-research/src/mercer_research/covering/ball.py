"""The ball of a kernel's space: the class of a kernel machine, by the best of all bounds on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, qr
from scipy.special import gammaln

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.gram.base import Gram
from mercer.gram.dense import Dense
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import Best, Covering, Interval, Sum
from mercer_research.covering.composition import Composition
from mercer_research.covering.covers import PointCover
from mercer_research.covering.hilbert import ConvexHull, Cube, HilbertBall
from mercer_research.covering.scaling import BestScaling, MeasuredScaling, Truncation

__all__ = [
    "CoefficientBall",
    "FeatureBox",
    "KernelBall",
    "feature_box",
    "log_packing_bound",
    "log_volume_bound",
    "with_offset",
]

EPS = float(np.finfo(np.float64).eps)

COMPLETE = 1000
"""Points up to which all eigenvalues of a Gram matrix are computed."""

RANK = 500
"""Size of the frame beyond."""


class _Frame(NamedTuple):
    """Features of points in a principal frame."""

    Z: Array
    residual: Array
    """Squared length that the frame leaves of every point."""

    log_pivots: Array
    """Logarithms of the diagonal of a pivoted Cholesky factor, from the largest on."""


def _principal(K: Gram | Array, rank: int | None = None) -> _Frame:
    """Return features of the points of a Gram matrix.

    All eigenvectors of a small matrix; beyond, the principal axes of a pivoted Cholesky factor,
    which reads as many rows as its rank. Any frame gives valid bounds, a better one tighter bounds.
    """
    small = isinstance(K, np.ndarray) and len(K) <= COMPLETE and rank is None
    gram = Dense(np.asarray(K, dtype=np.float64)) if isinstance(K, np.ndarray) else K
    most = gram.shape[0] if small else min(gram.shape[0], RANK if rank is None else rank)
    L, pivots = pivoted_cholesky(gram, most)
    log_pivots = np.log(np.abs(L[pivots, np.arange(len(pivots))]))
    diagonal = np.asarray(gram.diag(), dtype=np.float64)
    if small:
        values, U = eigh(gram.dense())
        if values[0] < -10 * len(values) * EPS * abs(values[-1]):
            raise ValueError(
                f"the Gram matrix has the eigenvalue {values[0]:.3g}: it has no ball of a kernel's "
                "space. CoefficientBall takes indefinite kernels."
            )
        Z = U * np.sqrt(np.maximum(values, 0.0))
    else:
        Z = L @ eigh(L.T @ L)[1]
    Z = np.asarray(Z[:, ::-1], dtype=np.float64)
    # What rounding hides of the squared lengths is added, not left out.
    left = np.maximum(diagonal - np.sum(Z**2, axis=1), 0.0) + len(Z) * EPS * diagonal
    return _Frame(Z, left, log_pivots)


def _volume(log_pivots: Array, radius: float, norm: float) -> float:
    q = np.arange(1, len(log_pivots) + 1)
    log_ball = 0.5 * q * np.log(np.pi) - gammaln(0.5 * q + 1)
    logs = np.cumsum(log_pivots) + log_ball + q * np.log(norm / (2 * radius))
    return float(np.max(logs, initial=0.0))


def log_volume_bound(K: Gram | Array, radius: float, *, norm: float = 1.0) -> float:
    r"""Return a lower bound on ln N of a kernel's ball on points in the sup norm, by volumes.

    .. math:: \ln N \ge \max_q\; q \ln\Lambda + \tfrac12 \ln\det K_q + \ln\operatorname{vol}(U_q)
              - q \ln(2\varepsilon)

    The values of the ball on q points are an ellipsoid, and balls of the sup norm are cubes. The q
    points are the first ones of a pivoted Cholesky factorization.

    Parameters
    ----------
    K : Gram or (m, m) array
    radius : float
    norm : float, default=1
        Radius :math:`\Lambda` of the ball.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> K = Gaussian()(np.array([[0.0], [0.7], [2.0]]))
    >>> round(log_volume_bound(K, 0.1), 3)
    5.616
    """
    check_positive(radius=radius, norm=norm)
    return _volume(_principal(K).log_pivots, radius, norm)


def log_packing_bound(
    K: Gram | Array,
    radius: float,
    *,
    norm: float = 1.0,
    n_draws: int = 2000,
    random_state: int = 0,
) -> float:
    r"""Return a lower bound on ln N of a kernel's ball on points in the sup norm, by a packing.

    Functions are drawn from the ball, half of them from its sphere; as many as are farther apart
    than :math:`2\varepsilon` on the points need a ball each.

    Parameters
    ----------
    K : Gram or (m, m) array
    radius : float
    norm : float, default=1
    n_draws : int, default=2000
    random_state : int, default=0

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> K = Gaussian()(np.array([[0.0], [0.7], [2.0]]))
    >>> round(float(np.exp(log_packing_bound(K, 0.5))))
    4
    """
    check_positive(radius=radius, norm=norm)
    check_integer("n_draws", n_draws, 1)
    Z = _principal(K).Z
    rng = np.random.default_rng(random_state)
    k = Z.shape[1]
    w = rng.standard_normal((n_draws, k))
    # Functions of few principal axes are large, of all of them they hide in the middle.
    axes = np.unique(np.round(np.geomspace(1, k, 8)).astype(int))
    axes = rng.choice(axes, n_draws)
    w[np.arange(k) >= axes[:, None]] = 0.0
    w *= norm / np.linalg.norm(w, axis=1, keepdims=True)
    w[::2] *= rng.random((len(w[::2]), 1)) ** (1 / axes[::2, None])
    values = w @ Z.T
    start = int(np.argmax(np.max(np.abs(values), axis=1)))
    return PointCover(values, np.inf, start=start, smallest=2 * radius).log_lower(radius)


class _Members(Covering):
    """A class with several bounds, of which the least counts."""

    def __init__(self, members: Sequence[Covering]) -> None:
        self.members = tuple(members)
        self.best = Best(list(members))
        self.name = self.best.name
        self.assumptions = self.best.assumptions
        self.data_dependent = self.best.data_dependent

    @property
    def norm(self) -> float:
        return self.best.norm

    def _log_covering(self, radius: float) -> float:
        return self.best.log_covering(radius)

    def active(self, radius: float) -> str:
        return self.best.active(radius)


class KernelBall(_Members):
    r"""Functions of a kernel's space with norm at most :math:`\Lambda`, in the sup norm.

    The class of support vector machines and of every other machine with the penalty
    :math:`\|f\|^2`. :meth:`log_covering` is the least of these bounds, :meth:`active` says which:
    greedy terms and a cube (the number of points and the largest value only), the best scaling
    and a truncation of the spectrum, and the best scaling followed by greedy terms.

    Make it :meth:`from_spectrum`, for all inputs of a domain, or :meth:`from_gram`, for the given
    points; :meth:`from_factor` takes features of the points instead of their Gram matrix.

    Parameters
    ----------
    members : sequence of Covering
        Bounds on the same class.
    log_pivots : (q,) array, optional
        Logarithms of the diagonal of a pivoted Cholesky factor of the Gram matrix, from which lower
        bounds follow.
    radius_of_ball : float, default=1
        The bound :math:`\Lambda` on the norm.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.27) to (8.32).

    Examples
    --------
    A Gaussian of width 0.5 with period 6, its eigenvalues in pairs:

    >>> omega = 2 * np.pi * np.arange(30) / 6
    >>> log_eigenvalues = np.log(0.5 * np.sqrt(2 * np.pi)) - (0.5 * omega) ** 2 / 2
    >>> ball = KernelBall.from_spectrum(
    ...     log_eigenvalues, multiplicity=np.r_[1, np.full(29, 2)], eigenfunction_bound=6**-0.5
    ... )
    >>> round(ball.log_covering(0.1), 4), ball.active(0.1)
    (39.6615, 'truncation')

    The same kernel on 40 points of the interval:

    >>> from mercer.kernels import Gaussian
    >>> ball = KernelBall.from_gram(Gaussian(0.5)(np.linspace(-2, 2, 40)[:, None]))
    >>> lower, upper = ball.bracket(0.1)
    >>> round(lower, 1), round(upper, 1), ball.active(0.1)
    (12.6, 37.6, 'truncation, measured')
    """

    def __init__(
        self,
        members: Sequence[Covering],
        *,
        log_pivots: Array | None = None,
        radius_of_ball: float = 1.0,
    ) -> None:
        super().__init__(members)
        self.log_pivots = np.empty(0) if log_pivots is None else log_pivots
        self.radius_of_ball = radius_of_ball

    @classmethod
    def from_spectrum(
        cls,
        log_eigenvalues: ArrayLike,
        *,
        norm: float = 1.0,
        multiplicity: ArrayLike | None = None,
        log_tail: float = -np.inf,
        eigenfunction_bound: float = 1.0,
        n_points: int | None = None,
        size: float | None = None,
        outputs: int = 1,
    ) -> KernelBall:
        r"""Return the ball on a whole domain, from the spectrum of the integral operator.

        Parameters
        ----------
        log_eigenvalues : (k,) array
            Logarithms of eigenvalues, in any order.
        norm : float, default=1
            The bound :math:`\Lambda` on the norm: :math:`\sqrt{2Q}` for the functions with
            :math:`\tfrac12 \|f\|^2 \le Q`.
        multiplicity : (k,) array, optional
            How often each eigenvalue occurs.
        log_tail : float, default=-inf
            Logarithm of the sum of all eigenvalues that are not listed, or of an upper bound.
        eigenfunction_bound : float, default=1
            The constant :math:`C_k`; :math:`v^{-d/2}` for kernels of period v in d dimensions.
        n_points : int, optional
            Number of points, if functions are compared on a sample only: adds the bounds that
            depend on it.
        size : float, optional
            Largest :math:`\sqrt{k(x, x)}`; :math:`C_k` times the root of the sum of all
            eigenvalues by default.
        outputs : int, default=1
            Number of functions that share the bound on the norm, their values at an input being
            compared by the Euclidean distance.
        """
        if size is not None:
            check_positive(size=size)
        scaling = BestScaling(
            log_eigenvalues,
            multiplicity=multiplicity,
            log_tail=log_tail,
            eigenfunction_bound=eigenfunction_bound,
            norm=norm,
            outputs=outputs,
        )
        truncation = Truncation.from_spectrum(
            log_eigenvalues,
            multiplicity=multiplicity,
            log_tail=log_tail,
            eigenfunction_bound=eigenfunction_bound,
            norm=norm,
            outputs=outputs,
        )
        members: list[Covering] = [truncation, scaling]
        if n_points is not None:
            largest = scaling.norm if size is None else min(norm * size, scaling.norm)
            members += _on_points(n_points, largest, scaling, outputs)
        return cls(members, radius_of_ball=norm)

    @classmethod
    def from_gram(
        cls, K: Gram | Array, *, norm: float = 1.0, outputs: int = 1, rank: int | None = None
    ) -> KernelBall:
        """Return the ball on the points of a Gram matrix.

        Parameters
        ----------
        K : Gram or (m, m) array
            Positive semidefinite.
        norm : float, default=1
        outputs : int, default=1
        rank : int, optional
            Number of axes; all of up to 1,000 points, 500 beyond. Fewer loosen the bound at small
            radii.
        """
        check_positive(norm=norm)
        if rank is not None:
            check_integer("rank", rank, 1)
        frame = _principal(K, rank)
        members = _measured(frame.Z, frame.residual, norm, outputs)
        return cls(members, log_pivots=frame.log_pivots, radius_of_ball=norm)

    @classmethod
    def from_factor(
        cls, Z: ArrayLike, residual: ArrayLike, *, norm: float = 1.0, outputs: int = 1
    ) -> KernelBall:
        """Return the ball on points given by features in an orthonormal frame.

        Parameters
        ----------
        Z : (m, k) array
            Features: of kernel PCA, a pivoted Cholesky factor, or Nyström's.
        residual : (m,) array
            What is left of every k(x, x) beside the squared length of its row of Z.
        norm : float, default=1
        outputs : int, default=1
        """
        Z, residual = np.asarray(Z, dtype=np.float64), np.asarray(residual, dtype=np.float64)
        members = _measured(Z, residual, norm, outputs)
        R = qr(Z.T, mode="r", pivoting=True)[0]
        diagonal = np.abs(np.diagonal(R))
        diagonal = diagonal[diagonal > len(Z) * EPS * np.max(diagonal, initial=0.0)]
        return cls(members, log_pivots=np.log(diagonal), radius_of_ball=norm)

    def log_lower(self, radius: float) -> float:
        """Return a lower bound on ln N by volumes; 0 where the points are not known.

        A class with several outputs holds the class with one.
        """
        check_positive(radius=radius)
        return _volume(self.log_pivots, radius, self.radius_of_ball)

    def bracket(self, radius: float) -> tuple[float, float]:
        """Return a lower and an upper bound on ln N."""
        return self.log_lower(radius), self.log_covering(radius)


def _measured(Z: Array, residual: Array, norm: float, outputs: int) -> list[Covering]:
    """Return bounds for points whose features are known."""
    scaling = MeasuredScaling(Z, residual, norm=norm, outputs=outputs)
    truncation = Truncation.from_factor(Z, residual, norm=norm, outputs=outputs)
    largest = norm * float(np.sqrt(np.max(np.sum(Z**2, axis=1) + residual)))
    return [truncation, scaling, *_on_points(len(Z), largest, scaling, outputs)]


def _on_points(m: int, largest: float, scaling: Covering, outputs: int) -> list[Covering]:
    """Return bounds for m points: without the spectrum, and after the best scaling."""
    # The scaled features are in the unit ball: what is left after a cover of the scaled class is
    # a ball of a Hilbert space with features of length one.
    unit = HilbertBall(m, outputs=outputs)
    return [
        HilbertBall(m, largest, outputs),
        Cube(m, largest, outputs),
        Composition(scaling, unit, radii=unit.steps),
    ]


class CoefficientBall(_Members):
    r"""Expansions :math:`\sum_i \alpha_i k(x_i, \cdot)` with :math:`\sum_i |\alpha_i| \le \Lambda`.

    The class of machines with a penalty on the sum of absolute coefficients, such as
    :class:`mercer.estimators.SparseRegressor`. Its weight vectors lie in the ellipsoid of the
    features, so that the decay of the spectrum counts twice,

    .. math:: \varepsilon_n \le 6 \Lambda C_k^2 \Bigl(j^* (\lambda_1 \cdots \lambda_{j^*} /
              n)^{1/j^*} + \sum_{i > j^*} \lambda_i\Bigr)

    and for positive definite kernels it lies in the ball of the kernel's space of radius
    :math:`\Lambda R`. Make it :meth:`from_spectrum` or :meth:`from_gram`.

    Parameters
    ----------
    members : sequence of Covering
        Bounds on the same class.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (9.21) to (9.31), whose factor of 6
    belongs to the bound on diagonal operators; A. Smola, S. Mika, B. Schölkopf and R. Williamson
    (2001), Regularized principal manifolds, Journal of Machine Learning Research 1, eq. (86), (87).

    Examples
    --------
    >>> log_eigenvalues = -0.3 * np.arange(60.0)
    >>> convex = CoefficientBall.from_spectrum(log_eigenvalues, eigenfunction_bound=0.5)
    >>> ball = KernelBall.from_spectrum(log_eigenvalues, eigenfunction_bound=0.5)
    >>> [round(c.log_covering(0.01), 1) for c in (convex, ball)]
    [124.1, 162.6]
    """

    @classmethod
    def from_spectrum(
        cls,
        log_eigenvalues: ArrayLike,
        *,
        norm: float = 1.0,
        multiplicity: ArrayLike | None = None,
        log_tail: float = -np.inf,
        eigenfunction_bound: float = 1.0,
        n_points: int | None = None,
        size: float | None = None,
        outputs: int = 1,
        indefinite: bool = False,
    ) -> CoefficientBall:
        r"""Return the class on a whole domain; parameters as in :meth:`KernelBall.from_spectrum`.

        Parameters
        ----------
        log_eigenvalues : (k,) array
            Of absolute values, if the kernel is indefinite.
        norm : float, default=1
            The bound :math:`\Lambda` on the sum of absolute coefficients.
        multiplicity, log_tail, eigenfunction_bound, n_points, size, outputs
            As there.
        indefinite : bool, default=False
            Leave out what holds for positive definite kernels only.
        """
        twice = BestScaling(
            log_eigenvalues,
            multiplicity=multiplicity,
            log_tail=log_tail,
            eigenfunction_bound=eigenfunction_bound,
            norm=norm,
            power=2,
            outputs=outputs,
        )
        twice.name = "best scaling, twice"
        members: list[Covering] = [twice]
        if not indefinite:
            # sqrt(k(x, x)) is at most C_k times the root of the trace.
            R = (twice.norm / norm) ** 0.5 if size is None else size
            ball = KernelBall.from_spectrum(
                log_eigenvalues,
                norm=norm * R,
                multiplicity=multiplicity,
                log_tail=log_tail,
                eigenfunction_bound=eigenfunction_bound,
                n_points=n_points,
                size=size,
                outputs=outputs,
            )
            members += ball.members
        elif n_points is not None:
            members.append(Cube(n_points, twice.norm, outputs))
        return cls(members)

    @classmethod
    def from_gram(cls, K: Array, *, norm: float = 1.0, outputs: int = 1) -> CoefficientBall:
        """Return the class on the points of a Gram matrix, with terms at the same points.

        Parameters
        ----------
        K : (m, m) array
            Symmetric; an indefinite one leaves fewer bounds.
        norm : float, default=1
            The bound on the sum of absolute coefficients.
        outputs : int, default=1
        """
        K = np.asarray(K, dtype=np.float64)
        m = len(K)
        if m > 4 * COMPLETE:
            raise ValueError(
                f"all eigenvalues of {m} points are too many; give a part of the points, or the "
                "spectrum of the kernel to from_spectrum"
            )
        values, U = eigh(K)
        Z = U * np.sqrt(np.abs(values))
        rounding = np.full(m, m * EPS * float(np.max(np.abs(values))))
        twice = MeasuredScaling(Z, rounding, norm=norm, power=2, outputs=outputs)
        twice.name = "best scaling, twice"
        largest = norm * float(np.max(np.abs(K)))
        members: list[Covering] = [
            twice,
            ConvexHull(m, m, largest, outputs),
            Cube(m, largest, outputs),
        ]
        if values[0] >= -m * EPS * float(np.max(np.abs(values))):
            R = float(np.sqrt(np.max(np.diagonal(K))))
            members += _measured(Z[:, ::-1], rounding, norm * R, outputs)
        return cls(members)


class FeatureBox(NamedTuple):
    """The shape of the features of a sample, from :func:`feature_box`."""

    sides: Array
    """Largest absolute coordinate along every axis, (k,)."""

    root_eigenvalues: Array
    """Roots of the mean squared coordinates, (k,): eigenvalues under the sample's measure."""

    eigenfunction_bound: float
    """Largest side over root of the eigenvalue: the least constant for which the box has these
    sides."""

    tails: Array
    """Sums of squared sides beyond every axis, (k,); in no frame are they below the sums of the
    eigenvalues beyond it."""


def feature_box(Z: ArrayLike) -> FeatureBox:
    r"""Return the box around the features of a sample, beside the roots of the eigenvalues.

    .. math:: c_j = \max_s |Z_{sj}|, \qquad \sum_{i > n} c_i^2 \ge \sum_{i > n} \lambda_i

    with the eigenvalues of the uniform measure on the sample, for every orthonormal frame (Ky Fan):
    no other axes make the box shrink faster than the principal ones do.

    Parameters
    ----------
    Z : (m, k) array
        Features in an orthonormal frame.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, proposition 8.1; the inequality replaces
    its argument about diagonals of covariances.

    Examples
    --------
    >>> box = feature_box([[1.0, 0.1], [-1.0, 0.1], [0.5, -0.2]])
    >>> box.sides, round(box.eigenfunction_bound, 3)
    (array([1. , 0.2]), 1.414)
    """
    Z = np.asarray(Z, dtype=np.float64)
    if Z.ndim != 2 or not Z.size or not np.isfinite(Z).all():
        raise ValueError(f"Z must hold finite features of at least one point, got shape {Z.shape}")
    sides = np.max(np.abs(Z), axis=0)
    roots = np.sqrt(np.mean(Z**2, axis=0))
    ratio = np.divide(sides, roots, out=np.zeros_like(sides), where=roots > 0)
    tails = np.append(np.cumsum(sides[::-1] ** 2)[::-1][1:], 0.0)
    return FeatureBox(sides, roots, float(np.max(ratio)), tails)


def with_offset(
    ball: Covering, largest: float | None = None, *, targets: ArrayLike | None = None
) -> Sum:
    r"""Return the class with a bounded constant added to its functions.

    Parameters
    ----------
    ball : Covering
    largest : float, optional
        Largest absolute offset B, fixed before the data were seen.
    targets : (m,) array, optional
        Instead of it: :math:`B = \Lambda R + \max_i |y_i|`, which depends on the data, and says so.

    Examples
    --------
    >>> from mercer_research.covering import HilbertBall
    >>> both = with_offset(HilbertBall(3), targets=[-1.0, 2.0])
    >>> both.norm, both.data_dependent
    (4.0, True)
    """
    if (largest is None) == (targets is None):
        raise ValueError("give the largest offset, or targets from which to guess it")
    if largest is not None:
        check_nonnegative(largest=largest)
        return Sum(ball, Interval(largest))
    B = ball.norm + float(np.max(np.abs(np.asarray(targets, dtype=np.float64))))
    measured = Assumption("the offset is at most the largest value plus the largest target")
    return Sum(ball, Interval(B, assumptions=(measured,), data_dependent=True))
