r"""
Losses, their slopes and their conjugates
=========================================

A machine of this library reads its loss in three ways. The functional sums its *values*. At the
minimum the coefficient of a sample is a *slope*,

.. math:: \frac{a_i}{c_i} = -\frac{\partial l}{\partial f}(y_i, f_i),

and the dual problem, hence the certificate, sums its *conjugate*
:math:`l^*(y, v) = \sup_f\, v f - l(y, f)` at :math:`v = -a_i / c_i`. One column below is one
loss, drawn for the target marked by the dot.

Read the middle row to know what a machine will be like. Where the slope is zero on an interval
(shaded), samples get no coefficient: the machine is *sparse*. Where the slope is bounded, no
sample can pull harder than that: the machine is *robust*. The bottom row is the same information
again. A bounded slope is a bounded domain (hatched beyond it), a flat interval is a corner or an
end at zero, a curved conjugate is a smooth loss.
"""

# %%
# Every loss has ``value``, ``gradient`` and ``conjugate``, elementwise in the target and the
# decision value, so one loop draws them all.

import matplotlib.pyplot as plt
import numpy as np

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)

losses = {
    "squared": (Squared(), 0.0),
    "Huber": (Huber(0.6), 0.0),
    "absolute": (Absolute(), 0.0),
    r"$\epsilon$-insensitive": (EpsilonInsensitive(0.6), 0.0),
    "pinball 0.8": (Pinball(0.8), 0.0),
    "hinge": (Hinge(), 1.0),
    "squared hinge": (SquaredHinge(), 1.0),
    "logistic": (Logistic(), 1.0),
}
f = np.linspace(-1.8, 1.8, 721)
alpha = np.linspace(-1.4, 1.4, 561)

figure, axes = plt.subplots(3, len(losses), figsize=(12, 6.2), sharex="row", sharey="row")
for (name, (loss, target)), column in zip(losses.items(), axes.T, strict=True):
    y = np.full_like(f, target)
    slope = -loss.gradient(y, f)
    conjugate = loss.conjugate(y[: alpha.size], -alpha)
    flat = np.flatnonzero(slope == 0)
    value_axes, slope_axes, dual_axes = column
    value_axes.plot(f, loss.value(y, f), color="C0", lw=2)
    value_axes.plot(target, 0, "o", color="black", ms=4, clip_on=False, zorder=3)
    value_axes.set_title(name)
    slope_axes.plot(f, slope, color="C1", lw=2)
    if flat.size > 1:
        slope_axes.axvspan(f[flat[0]], f[flat[-1]], color="C1", alpha=0.15, lw=0)
    dual_axes.plot(alpha, conjugate, color="C2", lw=2)
    dual_axes.fill_between(
        alpha, -1.2, 1.2, where=~np.isfinite(conjugate), fc="none", ec="0.8", hatch="////", lw=0
    )

for row in axes:
    for ax in row:
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.axvline(0, color="0.8", lw=0.8, zorder=0)
for row, label, limits, ticks in zip(
    axes,
    ["loss $l(y, f)$", "slope $a/c = -l'$", "conjugate $l^*(y, -a/c)$"],
    [(-0.05, 1.8), (-1.4, 1.4), (-1.2, 1.2)],
    [(0, 1), (-1, 0, 1), (-1, 0, 1)],
    strict=True,
):
    row[0].set(ylabel=label, ylim=limits, yticks=ticks)
for ax in axes[1]:
    ax.set(xlabel="$f$", xticks=(-1, 0, 1))
for ax in axes[0]:
    ax.set(xticks=(-1, 0, 1), xticklabels=[])
for ax in axes[2]:
    ax.set(xlabel="$a/c$", xticks=(-1, 0, 1))
plt.show()
