"""Graphs of linear models, averages, networks and perceptrons, for :func:`mercer.io.to_onnx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.io.emitters import around, gram
from mercer.io.machine_plans import TRIED_POINTS, voted
from mercer.io.registry import Plan, Planner, refuse, register
from mercer.io.symbols import Value
from mercer_research.linear.alternatives import LeastSquaresAmongstAlternatives
from mercer_research.linear.boosting import MarginBoost
from mercer_research.linear.bridge import Bridge
from mercer_research.linear.fused_ridge import FusedRidge
from mercer_research.linear.lasso import LassoConstrained, ValidatedLasso
from mercer_research.linear.margins import LpMarginSVC
from mercer_research.linear.nadaraya_watson import NadarayaWatson
from mercer_research.linear.norms import NormRegression
from mercer_research.linear.one_norm import OneNormSVC
from mercer_research.linear.perceptron import KernelPerceptron
from mercer_research.linear.plausible_fit import PlausibleLeastSquares
from mercer_research.linear.rbf_network import RBFNetwork
from mercer_research.linear.validated_selection import ValidatedSelection

Function = Callable[[Value], Value]

# Sums of weights below which no sample is near, as the machine has it.
LOST = 1e-300
# Distances that are as small as the smallest but for rounding.
ALIKE = 1.0 + 1e-12


def _linear(model: Any) -> Plan:
    weights = np.atleast_2d(model.coef_).T
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), weights.shape[1:])
    Z = np.random.default_rng(0).normal(size=(TRIED_POINTS, len(weights)))
    # Sums of products of features far from zero, of which nothing is known here.
    return Plan(
        model,
        lambda x: {"prediction": x @ weights + b[None]},
        {"prediction": weights.shape[1]},
        None,
        Z,
        True,
    )


def _hyperplanes(model: Any) -> Plan:
    return voted(model, _linear(model))


def _average(model: Any) -> Function:
    """Return the ratio of sums of a NadarayaWatson, or the nearest target where none has weight."""
    Z, y = np.asarray(model.X_fit_, dtype=np.float64), np.asarray(model.y_fit_, dtype=np.float64)
    both = np.column_stack([y, np.ones(len(y))]) * np.asarray(model.sample_weight_)[:, None]

    def ratio(weights: Value, guard: Value | None = None) -> Value:
        sums = weights @ both
        below = sums.columns([1])
        value: Value = sums.columns([0]) / (below if guard is None else below + guard)
        return value

    def write(x: Value) -> Value:
        points = around(x, Z)
        K = gram(model.kernel_, points)
        lost = 1.0 - (K @ both[:, 1:]).above(LOST)
        f = ratio(K, lost)
        if model.far == "nearest":
            d2 = points.squares(exact=True)
            near = 1.0 - d2.above(d2.smallest() * ALIKE)
            f = f * (1.0 - lost) + ratio(near) * lost
        else:
            f = f + (lost * 0.0) / (1.0 - lost)
        value: Value = f.at_least(float(y.min())).at_most(float(y.max()))
        return value

    return write


def _network(model: Any) -> Function:
    """Return the sum of Gaussians of an RBFNetwork, each with a width of its own."""
    Z, widths = np.asarray(model.centres_, dtype=np.float64), np.asarray(model.widths_)
    coef = np.asarray(model.coef_, dtype=np.float64).reshape(len(Z), -1)
    shift = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))

    def write(x: Value) -> Value:
        s = around(x, Z).squares(exact=False)
        widened = s * np.broadcast_to(-0.5 / widths**2, len(Z))[None]
        value: Value = widened.map("Exp") @ coef + shift[None]
        return value

    return write


def _perceptron(model: Any) -> Function:
    """Return the last, the mean or the vote of all functions of a KernelPerceptron."""
    Z = np.asarray(model.support_vectors_, dtype=np.float64)
    if model.output != "vote":
        coef = np.asarray(model.dual_coef_, dtype=np.float64).reshape(-1, 1)
        return lambda x: gram(model.kernel_, around(x, Z)) @ coef + float(model.intercept_)
    made, lived = model._made, np.asarray(model._survival[1:], dtype=np.float64)
    # Every function is the one before with a term more: their coefficients are cumulative sums.
    steps = np.zeros((len(Z), len(made)))
    steps[np.searchsorted(model.support_, made), np.arange(len(made))] = model._labels[made]
    total = max(float(lived.sum()), 1.0)

    def write(x: Value) -> Value:
        K = gram(model.kernel_, around(x, Z))
        functions = K @ np.cumsum(steps, axis=1) + np.cumsum(model._labels[made])[None]
        value: Value = functions.map("Sign") @ (lived / total)[:, None]
        return value

    return write


def _function(find: Callable[[Any], Function], points: str) -> Planner:
    """Return the planner of models that are one function around points of theirs."""

    def planner(model: Any) -> Plan:
        write, Z = find(model), np.asarray(getattr(model, points), dtype=np.float64)
        # Values far from all points are ratios of tiny sums, or signs of small ones.
        return Plan(model, lambda x: {"prediction": write(x)}, {"prediction": 1}, None, Z, True)

    return planner


def _signed(model: Any) -> Plan:
    return voted(model, _function(_perceptron, "support_vectors_")(model))


register(
    {
        **dict.fromkeys((Bridge, FusedRidge, LassoConstrained, NormRegression), _linear),
        **dict.fromkeys((LeastSquaresAmongstAlternatives, PlausibleLeastSquares), _linear),
        **dict.fromkeys((ValidatedLasso, ValidatedSelection), _linear),
        **dict.fromkeys((LpMarginSVC, OneNormSVC), _hyperplanes),
        NadarayaWatson: _function(_average, "X_fit_"),
        RBFNetwork: _function(_network, "centres_"),
        KernelPerceptron: _signed,
        MarginBoost: refuse(
            "is a vote of classifiers of any kind, for which there need be no operators"
        ),
    }
)
