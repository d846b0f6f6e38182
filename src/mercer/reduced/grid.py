"""Fit many settings of one map by the passes of one machine, without rows they are judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._threads import usable_cores
from mercer._typing import Array
from mercer.data.base import Block
from mercer.data.memory import parse
from mercer.data.sampling import FingerprintSample
from mercer.losses.base import Loss
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.newton import Minimum
from mercer.reduced.normal import NormalEquations
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem
from mercer.reduced.settings import FoldTargets, Scorer, Scores, Split, Tiled, joined, score
from mercer.reduced.solve import Task, minimize_reduced
from mercer.solvers.status import Status

__all__ = ["Examined", "examine_settings"]

# Part of the memory granted that sums and factors of several columns may take.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class Examined:
    """Settings that were fitted together, and their errors.

    Parameters
    ----------
    scores : Scores
    W, b : (r, folds, settings, k) and (q, folds, settings, k) arrays
        Coefficients of features and free columns, each without the rows of a fold.
    statuses : list of Status
        How the fits ended.
    """

    scores: Scores
    W: Array
    b: Array
    statuses: list[Status]


def examine_settings(
    task: Task,
    losses: Sequence[Loss],
    Cs: Array,
    phi: FeatureMap,
    passes: Passes,
    pool: FingerprintSample,
    split: Split,
    scorer: Scorer,
    how: Approximation,
) -> Examined:
    """Fit all settings of a map without some rows, and examine them on these.

    With the squared loss that takes two passes, whatever the number of settings and folds.
    Otherwise it takes as many as the hardest setting, and one.

    Parameters
    ----------
    task : Task
        What is the same in all settings; its loss and C are not read.
    losses : sequence of Loss
        Of each setting.
    Cs : (settings, k) array
        Weights of the loss.
    phi : FeatureMap
    passes : Passes
    pool : Sample
        Some of the rows.
    split : Split
        Which rows are left out.
    scorer : Scorer
        What their predictions cost.
    how : Approximation
        The memory granted.
    """
    folds, k = split.folds, task.targets.k
    size = phi.r + task.null_space.size(passes.source.n_features)
    # What each thread sums, and what they add up to.
    copies = (how.n_jobs or usable_cores()) + 2
    at_once = max(1, int(MEMORY_SHARE * parse(how.memory_limit) / (8.0 * size**2 * copies)))
    base = Problem(
        map=phi,
        null_space=task.null_space,
        targets=task.targets,
        loss=losses[0],
        C=np.ones(k),
        p=passes.source.n_features,
        seed=split.seed,
        held_out=split.share if folds == 1 else 0.0,
    )
    if all(loss.quadratic for loss in losses) and folds * _systems(task, pool) <= at_once:
        W, b = _squared(base, Cs, passes, folds)
        statuses = [Status.CONVERGED]
    else:
        step = max(1, at_once // (folds * k))
        parts = [
            _columns(task, base, losses[j : j + step], Cs[j : j + step], passes, pool, split)
            for j in range(0, len(losses), step)
        ]
        W = np.concatenate([part.W.reshape(phi.r, folds, -1, k) for part in parts], axis=2)
        b = np.concatenate([part.b.reshape(base.free, folds, -1, k) for part in parts], axis=2)
        statuses = [part.status for part in parts]
    flat = W.reshape(len(W), -1), b.reshape(len(b), -1)
    scores = score(passes, phi, task.null_space, task.targets, scorer, split, *flat)
    return Examined(scores, W, b, statuses)


def _systems(task: Task, pool: FingerprintSample) -> int:
    """Return how many systems of equations there are: problems that weigh rows differently."""
    return int(task.targets(Block(pool.X, pool.y, pool.s))[1].shape[1])


def _squared(base: Problem, Cs: Array, passes: Passes, folds: int) -> tuple[Array, Array]:
    """Return coefficients of the squared loss for all weights, (r or q, folds, settings, k)."""
    equations = NormalEquations.gather(base, passes, folds)
    distinct, index = np.unique(Cs, return_inverse=True)
    if folds == 1:
        theta = np.concatenate(equations.coefficients(distinct), axis=1)[None]
    else:
        theta = equations.without_folds(distinct)
    own = theta[:, index.reshape(Cs.shape), :, np.arange(base.k)]
    # Advanced indices apart come first: (settings, k, folds, size).
    theta = own.transpose(3, 2, 0, 1)
    return theta[: base.map.r], theta[base.map.r :]


def _columns(
    task: Task,
    base: Problem,
    losses: Sequence[Loss],
    Cs: Array,
    passes: Passes,
    pool: FingerprintSample,
    split: Split,
) -> Minimum:
    """Minimize settings as columns of one problem."""
    targets: Tiled | FoldTargets = Tiled(base.targets, len(losses))
    if split.folds > 1:
        targets = FoldTargets(targets, split)
    problem = replace(
        base,
        targets=targets,
        loss=joined(list(losses) * split.folds, base.k),
        C=np.tile(Cs.reshape(-1), split.folds),
    )
    return minimize_reduced(replace(task, loss=problem.loss), problem, passes, pool)[1]
