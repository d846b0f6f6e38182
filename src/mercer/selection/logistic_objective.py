"""The search for hyperparameters of logistic machines by the evidence of classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.selection._statement import Statement
from mercer.selection.objective import Objective
from mercer.smoothing.logistic_evidence import LogisticEvidence

__all__ = ["LogisticObjective"]

# Decrease per sample by the last of Newton's steps: a search that stops at .2 of the log evidence
# sees nothing of what further steps would tell, each a factorization.
MODE_TOLERANCE = 1e-7


@dataclass(eq=False, kw_only=True)
class LogisticObjective(Objective):
    """Evaluates the evidence of the logistic machine, with its gradient.

    The weight C multiplies the kernel here: with the penalty of the machine as it is, the log odds
    have the prior covariance C K.
    """

    ratios: ClassVar[Array] = np.geomspace(0.5, 500.0, 5)
    evidences: dict[Statement, LogisticEvidence] = field(default_factory=dict)

    def _evidence(self, statement: Statement) -> LogisticEvidence:
        if statement not in self.evidences:
            self.evidences[statement] = LogisticEvidence(
                statement.Y, statement.weights, MODE_TOLERANCE
            )
        return self.evidences[statement]

    def curve(
        self,
        statement: Statement,
        theta: Array,
        weights: Array,
        stage: str,
        relative: bool = False,
    ) -> Array:
        self.pace.start(statement.n)
        kernel, _ = self.space.at(theta)
        K = np.asarray(kernel.symmetric(statement.X), dtype=np.float64)
        signal = _signal(K)
        Cs = weights / signal if relative else weights
        evidence = self._evidence(statement)
        values = np.array([evidence.value(C * K) for C in Cs])
        best = int(np.argmin(values))
        moved = np.append(theta[:-1], np.log(Cs[best] * signal))
        self.record(stage, moved, float(values[best]), statement.n, float(Cs[best]))
        return values

    def _value_and_gradient(
        self, statement: Statement, theta: Array, stage: str
    ) -> tuple[float, Array]:
        kernel, ratio = self.space.at(theta)
        K = np.asarray(kernel.symmetric(statement.X), dtype=np.float64)
        signal, n = _signal(K), statement.n
        C = float(ratio) / signal
        try:
            value, G = self._evidence(statement).gradient(C * K)
        except ValueError as error:
            self.error = error
            return np.inf, np.zeros_like(theta)
        G *= C
        by_log_C = float(np.sum(G * K))
        # At a constant ratio C falls as the variance of the function grows.
        G += by_log_C / (n * n * signal)
        G[np.diag_indices(n)] -= by_log_C / (n * signal)
        slopes = kernel.pullback(statement.X, G) if self.space.names else {}
        gradient = self.space.gradient(kernel, slopes, by_log_C)
        self.record(stage, theta, value, n, C)
        uneven, slope = self.space.spread(theta)
        scale = self._scale(n)
        return value + scale * uneven, gradient + scale * slope


def _signal(K: Array) -> float:
    """Return the mean variance that a kernel matrix has about a constant; one if it has none."""
    size = float(np.mean(np.diag(K)))
    signal = size - float(np.mean(K))
    return signal if signal > len(K) * float(np.finfo(np.float64).eps) * size else 1.0
