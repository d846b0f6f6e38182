"""The graph of a machine whose complexity is bounded, for :func:`mercer.io.to_onnx`."""

from __future__ import annotations

from typing import Any

from mercer.io.plans import plan_of
from mercer.io.registry import Plan, register
from mercer_research.selection.levels import FixedComplexity


def _bounded(model: Any) -> Plan:
    return plan_of(model.estimator_)


register({FixedComplexity: _bounded})
