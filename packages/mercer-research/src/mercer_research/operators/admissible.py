"""Decide whether a function is a kernel, and of which conditional order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mercer.inspect.filters import filter_curve
from mercer.inspect.printing import PrintedReport
from mercer.kernels import callable as _callable
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data
from mercer_research.kernels.power_series_check import power_series_check
from mercer_research.operators._jet import variable
from mercer_research.operators._witness import Witness, clouds, refute

MAX_ORDER = 4
"""Conditional orders that are tried; polynomials of degree 3 are already many."""

DERIVATIVES = 20
"""Derivatives whose signs are checked."""


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(PrintedReport):
    """Whether a function is a kernel, from :func:`is_kernel` or :func:`conditional_order`.

    It is true where a truth value is expected if nothing refutes the function.
    """

    symmetric: bool

    order: int | None
    """0 if positive definite, q if conditionally of order q, None if no order was found."""

    method: str
    """What decided: ``spectrum``, ``coefficients``, ``power series``, ``derivatives``, ``samples``.

    All but samples look at the function itself, on a grid; samples can refute and never prove.
    """

    reason: str
    """The finding in words."""

    where: str
    """On which space."""

    witness: Witness | None = None
    """Points and coefficients that refute the next lower order, or the function altogether."""

    @property
    def positive_definite(self) -> bool:
        """Whether no condition on the coefficients is needed."""
        return self.order == 0

    def __bool__(self) -> bool:
        return self.symmetric and self.order is not None

    def _title(self) -> str:
        if not self.symmetric:
            return "not a kernel: not symmetric"
        if self.order is None:
            return "not a kernel: indefinite"
        name = f"conditionally positive definite of order {self.order}"
        known = "not refuted: " if self.method == "samples" else ""
        return f"{known}{name if self.order else 'positive definite'} on {self.where}"

    def _lines(self) -> list[tuple[str, Any]]:
        return [(self.method, self.reason), ("witness", self.witness)]


def conditional_order(
    h: Callable[[Any], Any], max_order: int = MAX_ORDER, derivatives: int = DERIVATIVES
) -> Verdict:
    r"""Return the order for which :math:`h(|x - z|^2)` is conditionally positive definite.

    On every :math:`\mathbb{R}^d` at once, a continuous h is conditionally positive definite of
    order q if and only if :math:`(-1)^n h^{(n)} \ge 0` on :math:`(0, \infty)` for all
    :math:`n \ge q`. All derivatives up to `derivatives` are computed, to rounding, on a
    logarithmic grid from 1e-6 to 1e6, by calling `h` on truncated power series. If `h` is not
    written with arithmetic and functions of NumPy, projected Gram matrices of many sets of points
    in one to five dimensions are tried instead.

    Parameters
    ----------
    h : callable
        A function of the squared distance, of arrays.
    max_order : int, default=4
        Larger orders are not tried.
    derivatives : int, default=20
        How many derivatives are checked.

    Returns
    -------
    Verdict

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, definitions 3.10 and 3.11, eq. (3.78) and
    (3.79).

    Examples
    --------
    >>> conditional_order(lambda t: -np.sqrt(1.0 + t)).order  # multiquadric
    1
    >>> conditional_order(lambda t: 0.5 * t * np.log(t)).order  # thin plate
    2
    >>> print(conditional_order(lambda t: -(t**1.5)))
    not a kernel: indefinite
      derivatives  (-1)^n h^(n) < 0 for n = 20 at t = 1
    """
    where = "R^d for every d"
    if not _bounded(h):
        return Verdict(True, None, "values", "h has no finite limit at t = 0", where)
    try:
        wrong = _wrong_signs(h, derivatives)
    except (TypeError, ValueError, AttributeError):
        return _by_samples(
            _gram_of_squared_distances(h),
            chain.from_iterable(clouds(d, (0.3, 1.0, 3.0)) for d in (1, 2, 5)),
        )
    violated = sorted(wrong)
    order = violated[-1] + 1 if violated else 0
    if order <= max_order:
        reason = f"(-1)^n h^(n) >= 0 for n = {order} to {derivatives}"
        if order:
            reason += f", not for n = {order - 1}"
        return Verdict(True, order, "derivatives", reason, where)
    n = violated[-1]
    reason = f"(-1)^n h^(n) < 0 for n = {n} at t = {wrong[n]:.3g}"
    return Verdict(True, None, "derivatives", reason, where)


def is_kernel(
    k: Kernel | Callable[..., Any],
    points: Data | None = None,
    *,
    of: str = "points",
    dim: int = 1,
    max_order: int = MAX_ORDER,
    random_state: int = 0,
) -> Verdict:
    r"""Decide whether a function is a kernel, with points that refute it if it is not.

    The test depends on what the function is a function of:

    - a stationary kernel, by the sign of its spectrum (Bochner), a periodic one by its Fourier
      coefficients;
    - a function of the inner product, by the signs of its power series;
    - a function of the squared distance, by the signs of its derivatives
      (:func:`conditional_order`);
    - anything, by the smallest eigenvalue of Gram matrices, projected on coefficients orthogonal
      to polynomials, of lattices and random points of several sizes. That can only refute.

    Parameters
    ----------
    k : Kernel or callable
        A plain function takes what `of` says.
    points : points, optional
        Where to look; a kernel of strings or other objects needs them. By default points are made
        up, on the kernel's domain.
    of : {"points", "difference", "distance", "squared_distance", "inner_product"}
        The argument of a plain function: two sets of points, of which it returns the matrix; or an
        array of one number for each pair.
    dim : int, default=1
        Number of features of points that are made up.
    max_order : int, default=4
        Larger conditional orders are not tried.
    random_state : int, default=0
        For points at random.

    Returns
    -------
    Verdict

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, theorem 3.1, eq. (3.8) to (3.10), and
    section 3.7.1.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Sigmoid
    >>> is_kernel(Gaussian(0.5))
    positive definite on R^1
      spectrum  nowhere negative
    >>> bool(is_kernel(Sigmoid(), dim=3))
    False
    >>> is_kernel(lambda z: np.tanh(z), of="inner_product").order is None
    True
    """
    if isinstance(k, Kernel):
        return _decide_admissible(k, points, dim, max_order, random_state)
    if of == "squared_distance":
        return conditional_order(k, max_order)
    if of == "distance":
        return conditional_order(lambda t: k(np.sqrt(t)), max_order)
    if of == "inner_product":
        return _by_series(k, dim, random_state)
    if of == "difference":
        kernel = _callable.Callable(lambda X, Z: k(X[:, :1] - Z[:, 0]))
        return _decide_admissible(kernel, points, 1, max_order, random_state)
    if of != "points":
        raise ValueError(
            "of must be 'points', 'difference', 'distance', 'squared_distance' or "
            f"'inner_product', got {of!r}."
        )
    return _decide_admissible(_callable.Callable(k), points, dim, max_order, random_state)


def _decide_admissible(
    kernel: Kernel, points: Data | None, dim: int, max_order: int, random_state: int
) -> Verdict:
    """Decide about a kernel by its declared properties, and by samples."""
    sets = (
        [points]
        if points is not None
        else _accepted(kernel, _sample_points(kernel, dim, random_state))
    )
    where = "these points" if points is not None else _space(kernel, dim)
    asymmetry = max(_asymmetry(kernel, X) for X in sets[:8])
    if asymmetry > 1e-8:
        reason = f"k(x, z) and k(z, x) differ by {asymmetry:.1e} of the largest value"
        return Verdict(False, None, "samples", reason, where)
    if points is not None and (np.ndim(points) != 2 or not kernel.numeric):
        max_order = 0  # objects have no polynomials
    sampled = _by_samples(lambda X: kernel(X, X), sets, max_order, where)
    told = None if points is not None else _by_spectrum(kernel, dim)
    if told is None:
        return sampled
    method, negative = told
    if negative:
        return Verdict(True, None, method, negative, where, sampled.witness)
    if sampled.order is None or (sampled.order > kernel.order):
        return sampled  # a matrix that is indefinite weighs more than a formula
    return Verdict(True, sampled.order, method, "nowhere negative", where, sampled.witness)


def _by_spectrum(kernel: Kernel, dim: int) -> tuple[str, str] | None:
    """Return the method and where the spectrum is negative (empty if nowhere), if it is known."""
    if not kernel.stationary or (kernel.period is not None and dim > 1):
        return None
    try:
        curve = filter_curve(kernel, dim=dim)
    except NotImplementedError:
        return None
    method = "coefficients" if curve.discrete else "spectrum"
    if curve.nonnegative:
        return method, ""
    _, _, omega, value = curve.negative[curve.negative[:, 3].argmin()]
    return method, f"negative, {value:.4g} of its value at zero at frequency {omega:.4g}"


def _by_samples(
    gram: Callable[[Any], Array],
    sets: Any,
    max_order: int = MAX_ORDER,
    where: str = "R^d for d up to 5",
) -> Verdict:
    """Return the smallest order that no set of points refutes."""
    sets, last = list(sets), None
    for order in range(max_order + 1):
        witness = refute(gram, sets, order)
        if witness is None:
            reason = f"no counterexample among {len(sets)} sets of points"
            return Verdict(True, order, "samples", reason, where, last)
        last = witness
    reason = f"refuted for every order up to {max_order}"
    return Verdict(True, None, "samples", reason, where, last)


def _by_series(t: Callable[..., Any], dim: int, random_state: int) -> Verdict:
    """Judge a function of the inner product by the signs of its power series at zero."""
    where = "balls of R^d in which the power series converges, for every d"
    check = power_series_check(t, DERIVATIVES)
    radius = 4.0
    if check.coefficients is not None:
        # The root test: coefficients that fall no faster than R^-n end the series at R.
        far = np.arange(DERIVATIVES // 2, DERIVATIVES + 1)
        size = np.maximum(np.abs(check.coefficients.values[far]), np.finfo(float).tiny)
        radius = min(radius, 0.5 / float((size ** (1.0 / far)).max()))
    sets = [_within(X, radius) for X in clouds(max(dim, 2), (1.0,), random_state)]
    sampled = _by_samples(lambda X: np.asarray(t(X @ X.T), dtype=float), sets, 0, where)
    if check.status == "rejected":
        return Verdict(True, None, "power series", check.reason, where, sampled.witness)
    if check.status == "undecided" or sampled.order is None:
        return sampled
    reason = f"no coefficient up to degree {DERIVATIVES} is negative"
    return Verdict(True, 0, "power series", reason, where)


def _within(X: Array, radius: float) -> Array:
    """Return the points shrunk into the ball of squared radius `radius`."""
    return np.asarray(X * np.sqrt(radius / float((X**2).sum(axis=1).max())))


def _wrong_signs(h: Callable[[Any], Any], derivatives: int) -> dict[int, float]:
    """Return the orders n with (-1)^n h^(n) < 0 somewhere, and where, as near to 1 as can be."""
    t = np.geomspace(1e-6, 1e6, 121)
    with np.errstate(all="ignore"):
        jet = h(variable(t, derivatives))
        c, majorant = jet.c, jet.majorant
    n = np.arange(derivatives + 1)[:, None]
    # Every coefficient is a sum of nested products: each level rounds a few times.
    noise = 8.0 * (n + 1) * np.finfo(float).eps * majorant
    known = np.isfinite(c) & np.isfinite(noise)
    if known.mean() < 0.25:
        raise ValueError("the derivatives are not finite")
    wrong = known & ((-1.0) ** n * c < -noise)
    distance = np.where(wrong, np.abs(np.log(t)), np.inf)
    return {int(i): float(t[distance[i].argmin()]) for i in np.flatnonzero(wrong.any(axis=1))}


def _bounded(h: Callable[[Any], Any]) -> bool:
    """Whether h has a limit at zero: steps towards it get smaller, however slowly."""
    with np.errstate(all="ignore"):
        values = np.asarray(h(np.array([1e-16, 1e-32, 1e-64, 1e-128])), dtype=float)
    steps = np.abs(np.diff(values))
    small = 1e-12 * max(1.0, float(np.abs(values[-1])))
    return bool(np.isfinite(values).all() and (steps[-1] < steps[0] or steps[-1] <= small))


def _gram_of_squared_distances(h: Callable[[Any], Any]) -> Callable[[Array], Array]:
    def gram(X: Array) -> Array:
        squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
        with np.errstate(all="ignore"):
            # Where the formula has no value at distance zero, its limit is meant: 0 log 0 = 0.
            K = np.asarray(h(np.maximum(squares, 1e-128)), dtype=float)
        return K

    return gram


def _sample_points(kernel: Kernel, dim: int, random_state: int) -> Iterator[Array]:
    """Yield sets of points on the domain of a kernel."""
    if not kernel.numeric:
        raise ValueError(f"{kernel!r} compares {kernel.domain}: pass some of them as points.")
    box = re.match(r"\[([^,]+), ([^\])]+)[\])]", kernel.domain)
    if box or kernel.period is not None:
        lower, upper = (float(box[1]), float(box[2])) if box else (0.0, float(kernel.period or 0))
        upper = upper if np.isfinite(upper) else lower + 10.0
        rng = np.random.default_rng(random_state)
        for n in (3, 8, 40):
            yield np.tile(np.linspace(lower, upper, n, endpoint=False)[:, None], dim)
            yield rng.uniform(lower, upper, (n, dim))
        return
    yield from clouds(dim, _scales(kernel, dim), random_state)


def _accepted(kernel: Kernel, sets: Iterator[Array]) -> list[Array]:
    """Return the sets of points that a kernel does not refuse, as it may for being too large."""
    taken, refusal = [], None
    for X in sets:
        try:
            kernel(X, X)
        except ValueError as error:
            refusal = error
        else:
            taken.append(X)
    if not taken and refusal is not None:
        raise refusal
    return taken


def _scales(kernel: Kernel, dim: int) -> tuple[float, ...]:
    """Return the distance at which a kernel changes, if it depends on differences, and 1."""
    if not kernel.stationary:
        return 0.3, 1.0, 3.0
    u = np.zeros((161, dim))
    u[:, 0] = np.geomspace(1e-6, 1e6, 161)
    with np.errstate(all="ignore"):
        change = np.abs(kernel(u, np.zeros((1, dim)))[:, 0] - kernel.diag(u[:1])[0])
    change = change[np.isfinite(change)]
    if not len(change) or not change.max() > 0.0:
        return (1.0,)
    first = int((change >= 0.5 * change.max()).argmax())
    # A kernel that changes without bound has no scale of its own, or is seen well enough at 1.
    return (1.0,) if first > 140 else (float(u[first, 0]), 1.0)


def _asymmetry(kernel: Kernel, X: Data) -> float:
    half = len(X) // 2 or 1
    forth, back = kernel(X[:half], X[half:]), kernel(X[half:], X[:half])
    scale = float(np.abs(forth).max(initial=0.0))
    return float(np.abs(forth - back.T).max(initial=0.0)) / scale if scale else 0.0


def _space(kernel: Kernel, dim: int) -> str:
    return f"R^{dim}" if kernel.domain == "R^d" else kernel.domain
