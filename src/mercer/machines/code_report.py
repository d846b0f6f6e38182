"""Left-out decision values and probabilities of the machines of a code book."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._typing import Array, Function, PointsLike
from mercer.kernels.base import Kernel
from mercer.machines.calibration import sigmoid
from mercer.machines.ls_report import Report, UnavailableError

__all__ = ["CodeReport"]


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """The part of a report that probabilities need, without its sample."""

    sigmoids: Array
    sizes: Array
    n: int
    known: bool = True

    @property
    def values(self) -> Array:
        """Values of samples left out, which went with the sample."""
        raise UnavailableError(
            "a compressed machine knows nothing of samples left out; ask the machine before "
            "compression."
        )

    def without_sample(self) -> Sigmoids:
        """Return the sigmoids themselves."""
        return self


@dataclass(eq=False)
class CodeReport:
    """The sample of a classifier and its codes.

    Parameters
    ----------
    kernel, X, B, kind :
        As in :class:`~mercer.machines.ls_report.Report`.
    targets : (n, n_columns) array
        Codes of the samples' classes; those coded 0 stay out of a column.
    s : (n,) array
        Weights of the samples.
    C : float
        Weight of the loss.
    """

    kernel: Kernel | Function
    X: PointsLike
    B: Array
    targets: Array
    s: Array
    C: float
    kind: str | Function = "auto"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key in self.__annotations__}

    @property
    def n(self) -> int:
        return len(self.s)

    @property
    def known(self) -> bool:
        """Whether the factorizations are done."""
        return "values" in vars(self)

    @cached_property
    def values(self) -> Array:
        """Values of the columns' machines fitted without the sample, (n, n_columns)."""
        values, K = np.empty(self.targets.shape), None
        # Columns that see the same samples share one factorization.
        masks, of = np.unique(self.targets != 0, axis=1, return_inverse=True)
        for g, mask in enumerate(masks.T):
            columns = np.flatnonzero(of.ravel() == g)
            d = len(columns)
            report = Report(
                kernel=self.kernel,
                X=self.X,
                B=self.B,
                y=self.targets[:, columns],
                c=self.C * self.s * mask,
                errors=None,
                turn=np.eye(d),
                shares=np.ones(d),
                kind=self.kind,
            )
            K = report.K if K is None else K
            vars(report)["K"] = K
            values[:, columns] = report.y - report.left_out
        return values

    @cached_property
    def sigmoids(self) -> Array:
        """Slope and intercept of the probability of each column, (2, n_columns)."""
        several = self.targets.shape[1] > 1
        lines = [
            sigmoid(f[t != 0], t[t != 0] > 0, self.s[t != 0], intercept=several)
            for f, t in zip(self.values.T, self.targets.T, strict=True)
        ]
        return np.array(lines).T

    @property
    def sizes(self) -> Array:
        """Weight of the samples that each column sees, (n_columns,)."""
        return np.asarray(self.s @ (self.targets != 0))

    def without_sample(self) -> CodeReport | Sigmoids:
        """Return the sigmoids if they are known, and else the sample that they come from."""
        return Sigmoids(self.sigmoids, self.sizes, self.n) if self.known else self
