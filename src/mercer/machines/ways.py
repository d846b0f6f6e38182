"""How a machine is fitted, chosen once: exact, low-rank, local, or by a pilot."""

from __future__ import annotations

from typing import Protocol

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.local import Local
from mercer.machines.exact import ExactFit
from mercer.machines.leaves import LocalFit
from mercer.machines.low_rank import LowRankFit
from mercer.machines.pilot import PilotFit
from mercer.machines.protocol import WholeMachine
from mercer.machines.solving import EarlyStop

__all__ = ["FitMethod", "choose_fit"]


class FitMethod(Protocol):
    """A way to fit a machine: a value, with settings of its own."""

    def fit(
        self, machine: WholeMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        """Fit the machine."""


def choose_fit(machine: WholeMachine, X: PointsLike) -> FitMethod:
    """Return how a machine is fitted to rows.

    Parameters
    ----------
    machine : KernelMachine
        Its ``approximation`` says how, or leaves it to a pilot.
    X : points or Source
        Rows that come in blocks are fitted by a low-rank approximation unless it is local.
    """
    how, blocks = machine.approximation, is_source(X)
    if isinstance(how, Local):
        return LocalFit(how)
    if how == "local":
        return PilotFit()
    if how == "auto" and not blocks:
        local = Local in machine._parameter_constraints["approximation"]
        if local and machine.__sklearn_tags__().target_tags.required:
            return PilotFit()
    if machine._in_blocks and (blocks or how is not None):
        return LowRankFit(EarlyStop)
    return ExactFit()
