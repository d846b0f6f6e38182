"""Graphs of machines of bounded complexity and of thresholds, for :func:`mercer.io.to_onnx`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.io.errors import CannotConvert
from mercer.io.plans import plan_of
from mercer.io.registry import Plan, register
from mercer.io.symbols import LABEL, Outputs, Value
from mercer_research.selection.levels import FixedComplexity
from mercer_research.selection.threshold import ThresholdSelector


def _bounded(model: Any) -> Plan:
    return plan_of(model.estimator_)


def _threshold(model: ThresholdSelector) -> Plan:
    """Return which samples have a score of the wanted class that is large enough."""
    machine = plan_of(model.estimator_)
    at = int(np.flatnonzero(model.estimator_.classes_ == model.target_)[0])
    by = "scores" if hasattr(model.estimator_, "decision_function") else "probabilities"
    if by not in machine.widths or machine.widths[by] <= at:
        raise CannotConvert(f"{type(model).__name__} has no scores of classes to convert.")

    def write(x: Value) -> Outputs:
        score = machine.write(x)[by].columns([at])
        below = (-score).above(-float(model.threshold_))
        return {LABEL: below.beside(1.0 - below).largest()}

    return Plan(model, write, {LABEL: 0}, np.array([False, True]), machine.Z, machine.wide)


register({FixedComplexity: _bounded, ThresholdSelector: _threshold})
