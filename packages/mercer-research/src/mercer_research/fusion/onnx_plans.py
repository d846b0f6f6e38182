"""Graphs of machines whose coefficients were found otherwise, for :func:`mercer.io.to_onnx`."""

from __future__ import annotations

from typing import Any

from mercer.io.machine_plans import regressor, voted
from mercer.io.registry import Plan, register
from mercer_research.fusion.machine import Found
from mercer_research.fusion.sparse_substrate import SparseSubstrateClassifier


def _substrate(model: Any) -> Plan:
    return voted(model, regressor(model.machine_))


register({Found: regressor, SparseSubstrateClassifier: _substrate})
