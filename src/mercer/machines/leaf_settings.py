r"""Widths and weights of the machines in leaves, from rows left out.

In every leaf a piece of some hundred neighbouring rows, as dense as the leaf, shows by exact
leave-one-out errors :math:`e_l` of least squares which width :math:`\varphi` and weight C suit it.
Pieces are small, so leaves share what they found: with the likelihood :math:`e_l^{-m/2}` of m rows
and the share :math:`\pi` of leaves that are for each setting, which is unknown too,

.. math:: p_l(\varphi, C) \propto \pi(\varphi, C)\, e_l(\varphi, C)^{-m/2}, \qquad
          \pi = \frac1L \sum_l p_l .

Where leaves have little to say they all take the same; where one has a reason, it has its own.

A piece knows less than its leaf, and less of some features than of others. So larger pieces of
some leaves have the last word: where what was chosen leaves their rows out worse than what was
given, all leaves take what was given.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from mercer._deadline import time_left
from mercer.data.spill import Groups
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, count, take
from mercer.kernels.stretched import stretch
from mercer.local.tree import grow
from mercer.machines.leaf_tasks import Recipe
from mercer.machines.protocol import Machine
from mercer.machines.subproblems import Rows
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import LeaveOneOut
from mercer.smoothing.factored import Factored

__all__ = ["leaf_settings", "left_out", "widened"]

# Rows of a piece: their eigenvalues take some twentieths of a second.
PIECE_ROWS = 600
# Leaves that are examined at most.
MAX_EXAMINED_LEAVES = 256
# Rows of pieces that have the last word, and leaves that they are of.
LARGE_PIECE_ROWS, LARGE_PIECES = 1500, 12
# Factors of the width, and of the weight beside the one that is given.
WIDTH_FACTORS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
WEIGHT_FACTORS = 4.0 ** np.arange(-5, 6)
# Rounds after which shares hardly change, and a share that no setting loses.
ROUNDS, LEAST = 30, 1e-6


def widened(kernel: Kernel, factor: float) -> Kernel:
    """Return a kernel with all its length scales multiplied by a factor.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> widened(Gaussian(0.5).on([0]) + Linear(), 2.0)
    Gaussian(length_scale=1.0).on([0]) + Linear()
    """
    if factor == 1.0:
        return kernel
    params = kernel.get_params()
    names = [name for name in params if name.split("__")[-1] == "length_scale"]
    if not names:
        return stretch(kernel, factor)
    scaled = {name: factor * np.asarray(params[name], dtype=np.float64) for name in names}
    new = copy.deepcopy(kernel)
    new.set_params(**{k: float(v) if v.ndim == 0 else v for k, v in scaled.items()})
    return new


@dataclass(frozen=True)
class Examination:
    """What pieces of all leaves are examined with.

    Parameters
    ----------
    machine : KernelMachine
        With its kernel settled.
    recipe : Recipe
    kernels : list of Kernel
    weights : array
    scales, categories :
        As the tree was grown with.
    """

    machine: Machine
    recipe: Recipe
    kernels: Sequence[Kernel]
    weights: Array
    scales: Array
    categories: Sequence[int]


def examine(rows: Any, shared: Examination, number: int) -> tuple[Array, bool]:
    """Return scores of the settings in a leaf, and whether the loss is squared: a task."""
    part = shared.recipe.part(rows).rows
    piece = _piece(part, number, shared, PIECE_ROWS)
    scores = _scores(shared.machine, piece, shared.kernels, shared.weights)
    return scores, shared.machine._loss(part).quadratic


def judge(rows: Any, shared: Examination, state: tuple[int, dict[str, Any]]) -> float:
    """Return by how much chosen settings are better than those given, in one leaf: a task."""
    number, settings = state
    # Another piece than the one that was examined, where there is one.
    piece = _piece(shared.recipe.part(rows).rows, number + 1, shared, LARGE_PIECE_ROWS)
    machine = shared.machine
    Y, B = machine._targets(np.asarray(piece.y)), np.ones((count(piece.X), 1))
    given = machine.kernel_, float(shared.weights[len(shared.weights) // 2])
    before, after = (
        left_out(np.asarray(kernel(piece.X), dtype=np.float64), B, piece.weights, C, Y)
        for kernel, C in (given, (settings["kernel"], settings["C"]))
    )
    return 0.0 if before == after else before - after


def left_out(K: Array, B: Array, weights: Any, C: float, Y: Array) -> float:
    """Return half the rows times the logarithm of the left-out error; infinite if K is indefinite.

    Parameters
    ----------
    K : (n, n) array
    B : (n, q) array
        Unpenalized columns.
    weights : (n,) array
    C : float
        Weight of the loss.
    Y : (n, d) array

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> sample = np.ones((50, 1)), np.ones(50), 100.0, np.sin(20.0 * x)
    >>> left_out(Gaussian(0.1)(x), *sample) < left_out(Gaussian(1.0)(x), *sample)
    True
    """
    variance = float(np.sum(np.var(Y, axis=0)))
    if variance == 0.0:
        return 0.0
    try:
        error = 2.0 * LeaveOneOut().value(Factored(K, B, weights, C).fit(Y))
    except ValueError:  # not positive definite, in double precision at least
        return float("inf")
    # Errors that vanish to rounding are no infinite evidence.
    return 0.5 * len(Y) * float(np.log(error + 1e-9 * variance))


def leaf_settings(
    machine: Machine,
    groups: Groups,
    recipe: Recipe,
    leaves: int,
    scales: Array,
    categories: Sequence[int],
) -> dict[int, dict[str, Any]]:
    """Return parameters for the machine of each leaf.

    At most 256 leaves, evenly spread over the tree, are examined: beyond, examining all would take
    longer than fits of small leaves, and others take the setting with the largest share. Where that
    would take more than half of the time that is left, leaves take the settings that were given.

    Parameters
    ----------
    machine : KernelMachine
        With its kernel settled.
    groups : Groups
        The rows of each leaf.
    recipe : Recipe
    leaves : int
    scales, categories :
        As the tree was grown with.
    """
    given = getattr(machine, "C", 1.0)
    weights = (1.0 if isinstance(given, str) else float(given)) * WEIGHT_FACTORS
    kernels = [widened(machine.kernel_, factor) for factor in WIDTH_FACTORS]
    chosen = (
        [k * leaves // MAX_EXAMINED_LEAVES for k in range(MAX_EXAMINED_LEAVES)]
        if leaves > MAX_EXAMINED_LEAVES
        else None
    )
    numbers = list(range(leaves)) if chosen is None else chosen
    shared = Examination(machine, recipe, kernels, weights, scales, categories)
    n_jobs = machine.approximation.n_jobs
    begun, found = time_left(), {}
    for k, examined in groups.map(examine, shared, {k: k for k in numbers}, n_jobs):
        found[k] = examined
        if (begun - time_left()) * len(numbers) > 0.5 * begun * len(found):
            return {k: {} for k in range(leaves)}
    quadratic = found[numbers[-1]][1]

    def best(shares: Array) -> dict[str, Any]:
        i, j = np.unravel_index(int(np.argmax(shares)), shares.shape)
        return {"kernel": kernels[i], "C": float(weights[j])}

    shares = _shared(np.array([found[k][0] for k in numbers]))
    own = dict(zip(numbers, map(best, shares), strict=True))
    common = best(np.mean(shares, axis=0))
    judges = numbers[:: -(-len(numbers) // LARGE_PIECES)]
    states = {k: (k, own[k]) for k in judges}
    if sum(gain for _, gain in groups.map(judge, shared, states, n_jobs)) < 0.0:
        return {k: {} for k in range(leaves)}
    kept = ("kernel", "C") if quadratic else ("kernel",)
    chosen_for = (own.get(k, common) for k in range(leaves))
    return {k: {name: one[name] for name in kept} for k, one in enumerate(chosen_for)}


def _shared(scores: Array) -> Array:
    """Return how much each leaf is for each setting, from minus the logarithms of likelihoods."""
    log_pi = np.zeros(scores.shape[1:])
    for _ in range(ROUNDS):
        shares = softmax(log_pi - scores, axis=(1, 2))
        log_pi = np.log(np.mean(shares, axis=0) + LEAST)
    return np.asarray(shares)


def _piece(rows: Rows, number: int, shared: Examination, size: int) -> Rows:
    """Return neighbouring rows of a leaf, about as many as a piece has."""
    n = count(rows.X)
    pieces = -(-n // size)
    if pieces == 1:
        return rows
    leaf = grow(rows.X, pieces, shared.scales, shared.categories).route(rows.X)
    some = np.flatnonzero(leaf == number % (int(leaf.max()) + 1))[: 2 * size]
    y, weights = np.asarray(rows.y)[some], np.asarray(rows.weights)[some]
    return Rows(take(rows.X, some), y, weights)


def _scores(machine: Machine, piece: Rows, kernels: Sequence[Kernel], weights: Array) -> Array:
    """Return half the rows times the logarithm of the left-out error, (kernels, weights)."""
    X, s, n = piece.X, np.asarray(piece.weights), count(piece.X)
    Y = machine._targets(np.asarray(piece.y))
    out = np.zeros((len(kernels), len(weights)))
    centred = Y - np.average(Y, axis=0, weights=s)
    variance = float(np.average(np.sum(centred**2, axis=1), weights=s))
    if n < 3 or variance == 0.0:
        return out
    B = np.ones((n, 1))
    for i, kernel in enumerate(kernels):
        spectral = Spectral(np.asarray(kernel(X), dtype=np.float64), B, s)
        errors = sum(
            np.average(spectral.leave_one_out(y, weights) ** 2, axis=1, weights=s) for y in Y.T
        )
        # Errors that vanish to rounding are no infinite evidence.
        out[i] = 0.5 * n * np.log(errors + 1e-9 * variance)
    return out
