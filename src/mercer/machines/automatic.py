"""Parameters that a machine chooses from its sample before it is fitted.

Everything follows from a least-squares machine of a few hundred rows: one eigendecomposition gives
the errors of samples left out for every C, and a handful of them those of every width.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.named import NAMES, gamma_of_width, resolve
from mercer.kernels.points import scale_features
from mercer.kernels.stretched import stretch
from mercer.machines.explaining import warn_of_scales
from mercer.machines.kernel_kinds import compares_objects, is_precomputed
from mercer.machines.protocol import KernelSettings, Machine
from mercer.machines.subproblems import Rows, Sample
from mercer.smoothing.pairs import feature_scales, some_rows
from mercer.smoothing.tube_width import fit_noise, optimal_epsilon
from mercer.smoothing.widths import MAX_ROWS, Guess, guess_C, search_width

__all__ = ["choose_epsilon", "choose_kernel", "choose_nu", "guess", "stretched"]

AUTOMATIC_GAMMA = ("median", "tuned")
# Powers of exp(-|z|^p) between which the shape of the noise is looked for: beyond, a few hundred
# residuals do not tell it.
NOISE_POWERS = 1.25, 4.0


def choose_kernel(machine: Machine, rows: Rows, gamma: Any) -> tuple[Kernel, Array | None]:
    """Return the kernel that a machine means, with scales and width from the sample.

    Parameters
    ----------
    machine : KernelMachine
    rows : Rows
        Points, targets and weights.
    gamma : float or str
        Of the machine, or in its place.

    Returns
    -------
    kernel : Kernel
    scales : (p,) array or None
        What the features are divided by.
    """
    X, name, scales = rows.X, machine.kernel, None
    if isinstance(gamma, str) and gamma in AUTOMATIC_GAMMA and not named(name):
        raise ValueError(
            f"gamma={gamma!r} chooses the width of a kernel given by a name with one, such as "
            f"'rbf'; got kernel={name!r}. Set the parameters of a Kernel instead."
        )
    if machine.standardize:
        if is_precomputed(machine.kernel) or compares_objects(machine.kernel):
            raise ValueError(
                "standardize=True needs features; with a precomputed kernel or objects there are "
                "none. Use standardize=False."
            )
        scales = feature_scales(X, rows.weights)
    elif named(name) and isinstance(gamma, str):
        warn_of_scales(machine, X)
    points = X if scales is None else scale_features(X, 1.0 / scales)
    if isinstance(gamma, str) and gamma == "tuned":
        found = search_width(
            points,
            machine._targets(rows.y),
            weights=rows.weights,
            kernel=lambda width: made(machine, gamma_of_width(name, width)),
            cost=machine._cost,
        )
        gamma = gamma_of_width(name, found.length_scale)
    # A copy: parameters set after the fit must not reach into the fitted machine.
    given = copy.deepcopy(machine.kernel)
    kernel = resolve(given, points, gamma=gamma, degree=machine.degree, coef0=machine.coef0)
    return kernel, scales


def named(kernel: Any) -> bool:
    """Return whether a kernel is given by a name that has a gamma."""
    return isinstance(kernel, str) and kernel in NAMES


def made(machine: KernelSettings, gamma: float) -> Kernel:
    """Return the named kernel of a machine with a gamma."""
    return NAMES[machine.kernel](gamma, machine.degree, machine.coef0)


def stretched(kernel: Kernel, scales: Array | None) -> Kernel:
    """Return the kernel of unscaled features, from the kernel of features in units of scales."""
    return kernel if scales is None else stretch(kernel, scales)


def guess(machine: Machine, sample: Sample) -> Guess:
    """Return the least-squares machine on some rows with the lowest leave-one-out error.

    Parameters
    ----------
    machine : KernelMachine
    sample : Sample
    """
    Y, B, weights = sample.white(machine._targets(sample.y)), sample.white(sample.B), sample.weights
    live = np.flatnonzero(weights > 0)
    rows = live[some_rows(len(live), MAX_ROWS)]
    block = np.asarray(sample.K.block(rows, rows), dtype=np.float64)
    s = weights[rows] / np.mean(weights[rows])
    # The sum of losses weighs rows by their weights, not by these over their mean.
    factor = 1.0 / float(np.mean(weights[rows]))
    given = machine._known_weight()
    Cs = None if given is None else [given / factor]
    found = guess_C(block, Y[rows], B[rows], s, cost=machine._cost, Cs=Cs)
    return replace(found, C=found.C * factor, index=rows[found.index])


def choose_nu(residuals: Array) -> float:
    r"""Return the share of errors outside the most efficient tube for noise of a shape.

    The shape is the power of :math:`\exp(-|cz|^p)` under which the residuals are most likely, two
    unless they say otherwise.

    Parameters
    ----------
    residuals : array

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=4000)
    >>> bool(0.5 < choose_nu(z) < 0.58)
    True
    """
    return fit_noise(residuals, powers=NOISE_POWERS).nu


def choose_epsilon(residuals: Array, variance: float) -> float:
    """Return the most efficient half-width of the tube for noise of a shape and a variance.

    Parameters
    ----------
    residuals : array
        Errors of samples left out, which tell the shape as for :func:`choose_nu`.
    variance : float
        Variance of the noise.

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=400)
    >>> round(choose_epsilon(z, 4.0), 3)
    1.224
    """
    return optimal_epsilon(
        fit_noise(residuals, powers=NOISE_POWERS).power, float(np.sqrt(variance))
    )
