"""The transfer function of a fitted machine: the frequencies it keeps and removes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from mercer._typing import PointsLike, SupportVectors
from mercer.inspect.printing import PrintedReport
from mercer.inspect.projection import column_space, complement
from mercer.kernels.points import Array, Data, is_sparse
from mercer.losses import Squared
from mercer.machines.protocol import KernelFunction
from mercer.regularizers.null_space import NullSpace

MAX_SMOOTHER = 3000
"""Samples up to which the eigenvalues of the smoother are computed."""


@dataclass(frozen=True, eq=False, repr=False)
class MachineReport(PrintedReport):
    """The transfer function of a machine, from :func:`machine_report`."""

    machine: SupportVectors

    omega: Array
    """Frequencies."""

    data: Array
    """Power of the targets on the sample, :math:`|\\sum_i y_i e^{-i\\omega x_i}|^2 / n`."""

    fitted: Array
    """Power of the fitted values on the sample."""

    function: Array | None
    """Power of the penalized part as a function on the line, if the kernel has a spectrum."""

    bands: Array
    """Centres of the frequency bands of the transfer curve."""

    transfer: Array
    """Share of the data's amplitude that the fit keeps, in each band: 1 keeps, 0 removes.

    Not a number where the data have nothing.
    """

    expected: Array | None
    """Response of infinitely many points of the same density, for the squared loss."""

    response: Array | None
    """Share of a wave that is kept, for the squared loss, at every frequency.

    :math:`e'Se/n` of the smoother S and the waves e on the sample: exact for irregular points too.
    """

    shrinkage: Array | None
    """Eigenvalues of the smoother matrix of the squared loss, in falling order; free ones are 1."""

    norm: float
    """The penalty's squared norm of the function."""

    n_support: int
    """Terms of the expansion."""

    @property
    def cutoff(self) -> float:
        """The first band that keeps less than half, or infinity."""
        below = np.flatnonzero(self.transfer < 0.5)
        return float(self.bands[below[0]]) if len(below) else np.inf

    @property
    def degrees_of_freedom(self) -> float | None:
        """The trace of the smoother, for the squared loss."""
        return None if self.shrinkage is None else float(self.shrinkage.sum())

    def _title(self) -> str:
        return f"{type(self.machine).__name__} as a filter"

    def _lines(self) -> list[tuple[str, object]]:
        return [
            ("keeps half up to", self.cutoff),
            ("degrees of freedom", self.degrees_of_freedom),
            ("squared norm", self.norm),
            ("terms", self.n_support),
        ]


def machine_report(
    machine: SupportVectors,
    X: Data,
    y: Array,
    *,
    omega: Array | None = None,
    direction: Array | None = None,
    n_bands: int = 24,
) -> MachineReport:
    r"""Tell which frequencies a fitted machine keeps and which it removes.

    .. math:: \hat f(\omega) = P(\omega) \sum_i a_i e^{-i\langle\omega, x_i\rangle}, \qquad
              T(\omega) = \frac{\operatorname{Re} \sum \overline{\hat y} \hat f}{\sum |\hat y|^2}

    The second, on the sample and over bands of frequencies, is the share of the data's amplitude
    that is left in the fit. It is clear for points at regular distances; irregular ones smear
    every frequency over all others, and a share of what is smeared is kept with it. The squared
    loss is linear in y, so that its response to a single wave is known for any points; for
    many of density :math:`\rho` it approaches :math:`S / (S + 1/(C\rho))` with the angular
    spectrum S.

    Parameters
    ----------
    machine : fitted estimator
        A regression machine with an expansion: ``kernel_``, ``support_vectors_``, ``dual_coef_``.
    X : (n, p) points
        The training points.
    y : (n,) array
        The targets.
    omega : (m,) array, optional
        Frequencies; by default the multiples of :math:`2\pi` over the range of the points, up
        to as many as half the points.
    direction : (p,) array, optional
        With several features, the direction along which frequencies are measured.
    n_bands : int, default=24
        Bands of the transfer curve.

    Returns
    -------
    MachineReport

    Examples
    --------
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> x = np.arange(200) / 20.0
    >>> y = np.sin(x) + np.sin(20.0 * x)
    >>> machine = KernelRegressor(kernel=Gaussian(1.0), C=1.0).fit(x[:, None], y)
    >>> report = machine_report(machine, x[:, None], y, omega=np.array([1.0, 20.0]))
    >>> report.transfer.round(2)  # the slow wave stays, the fast one is gone
    array([0.96, 0.  ])
    """
    check_is_fitted(machine)
    values = _numbers(X)
    x = values @ _unit(direction, values.shape[1])
    y = np.asarray(y, dtype=float)
    if y.shape != x.shape:
        raise ValueError(f"y has shape {y.shape}; for {len(x)} points it must be ({len(x)},).")
    norm, coef = _norm(machine)
    if omega is None:
        omega = 2.0 * np.pi / max(float(np.ptp(x)), 1e-300) * np.arange(1, len(x) // 2 + 1)
    omega = np.asarray(omega, dtype=float)
    fit = np.asarray(machine.predict(X), dtype=float)
    waves = np.exp(-1j * np.outer(omega, x))
    data, kept = waves @ (y - y.mean()), waves @ (fit - fit.mean())
    groups = np.array_split(np.arange(len(omega)), min(n_bands, len(omega)))
    power = np.array([(np.abs(data[g]) ** 2).sum() for g in groups])
    shared = np.array([(data[g].conj() * kept[g]).real.sum() for g in groups])
    seen = power > 1e-20 * len(x) * float(y @ y)  # below that the data have nothing but rounding
    shrinkage, response = _smoother(machine, X, waves)
    return MachineReport(
        machine=machine,
        omega=omega,
        data=np.abs(data) ** 2 / len(x),
        fitted=np.abs(kept) ** 2 / len(x),
        function=_function_power(machine, omega, direction, coef),
        bands=np.array([omega[g].mean() for g in groups]),
        transfer=np.where(seen, shared / np.where(seen, power, 1.0), np.nan),
        expected=_expected(machine, omega, x, values.shape[1]),
        response=response,
        shrinkage=shrinkage,
        norm=norm,
        n_support=len(coef),
    )


def _numbers(X: PointsLike) -> Array:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=float)


def _unit(direction: Array | None, p: int) -> Array:
    if direction is None:
        if p != 1:
            raise ValueError(f"The points have {p} features: give the direction to look along.")
        return np.ones(1)
    direction = np.asarray(direction, dtype=float)
    if direction.shape != (p,) or not np.linalg.norm(direction) > 0.0:
        raise ValueError(f"direction must be a vector of {p} numbers, not all zero.")
    return np.asarray(direction / np.linalg.norm(direction))


def _norm(machine: SupportVectors) -> tuple[float, Array]:
    """Return the squared norm of a machine's function, and its coefficients."""
    kernel = getattr(machine, "kernel_", None)
    if kernel is None or kernel.precomputed or machine.dual_coef_.shape[0] != 1:
        raise ValueError(
            "Only a machine with a single expansion in a kernel of points has a norm: give no "
            "machine of several classes, of a precomputed matrix or of a plain function."
        )
    coef = np.ravel(_numbers(machine.dual_coef_))
    return float(coef @ kernel(machine.support_vectors_) @ coef), coef


def _function_power(
    machine: SupportVectors, omega: Array, direction: Array | None, coef: Array
) -> Array | None:
    kernel, Z = getattr(machine, "kernel_", None), _numbers(machine.support_vectors_)
    if kernel is None or not kernel.stationary or kernel.period is not None:
        return None
    u = _unit(direction, Z.shape[1])
    vectors = omega if Z.shape[1] == 1 else omega[:, None] * u
    try:
        spectrum = np.asarray(kernel.spectrum(vectors, Z.shape[1]), dtype=float)
    except NotImplementedError:
        return None
    sums = np.abs(np.exp(-1j * np.outer(omega, Z @ u)) @ coef)
    return np.asarray((spectrum * sums) ** 2)


class SquaredExpansion(KernelFunction, Protocol):
    """A fitted machine of the squared loss."""

    C: float

    @property
    def null_space_(self) -> NullSpace: ...


def _squared(machine: SupportVectors) -> TypeGuard[SquaredExpansion]:
    loss = getattr(machine, "loss", None)
    return (loss == "squared" or isinstance(loss, Squared)) and hasattr(machine, "null_space_")


def _expected(machine: SupportVectors, omega: Array, x: Array, p: int) -> Array | None:
    kernel = getattr(machine, "kernel_", None)
    if p != 1 or not _squared(machine) or kernel is None or not kernel.stationary:
        return None
    try:
        S = np.sqrt(2.0 * np.pi) * np.asarray(kernel.spectrum(omega), dtype=float)
    except NotImplementedError:
        return None
    density = len(x) / max(float(np.ptp(x)), 1e-300)
    return np.asarray(S / (S + 1.0 / (float(machine.C) * density)))


def _smoother(machine: SupportVectors, X: Data, waves: Array) -> tuple[Array | None, Array | None]:
    """Eigenvalues of y -> f for equal weights, and its quadratic form at waves ``(m, n)``.

    On the complement of B the smoother is K (K + I/C)^-1; B itself is reproduced.
    """
    n = waves.shape[1]
    if not _squared(machine) or n > MAX_SMOOTHER:
        return None, None
    B, K = machine.null_space_(X), np.asarray(machine.kernel_(X), dtype=float)
    Z, Q = complement(B), column_space(B)
    values, vectors = linalg.eigh(Z.T @ K @ Z)
    values = np.maximum(values, 0.0)
    values /= values + 1.0 / float(machine.C)
    basis = np.concatenate([Q, Z @ vectors[:, ::-1]], axis=1)
    shrinkage = np.concatenate([np.ones(Q.shape[1]), values[::-1]])
    return shrinkage, np.asarray((np.abs(waves @ basis) ** 2 @ shrinkage) / n)
