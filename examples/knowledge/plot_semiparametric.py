r"""
Unpenalized terms: what the penalty does not see
================================================

A kernel machine far from its data falls back on whatever is not penalized. For a plain machine
that is a constant. But often something is known: a trend, a period, a list of physical effects.
Functions :math:`p_1, \dots, p_q` that span it become columns of :math:`B` and cost nothing,

.. math:: \min_{f, b}\; \tfrac12 \|f\|^2
          + C \sum_i l\bigl(y_i,\, f(x_i) + \textstyle\sum_j b_j p_j(x_i)\bigr),

so the kernel only explains what they cannot. All three machines below have the same loss, kernel
and weight, and agree where there are data (dots). They differ in the null space, hence in what
they believe about the future. The truth (dashed) is a trend, a season and a bump.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.regularizers import Constant, Functions, Polynomial


def truth(x):
    return 0.25 * x + 0.9 * np.sin(np.pi * x) + 1.6 * np.exp(-((x - 3.2) ** 2) / 0.5)


rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 7, 130))
y = truth(x) + 0.15 * rng.standard_normal(x.size)
grid = np.linspace(-1, 11, 600)

# %%
# Null spaces are objects that can be added. ``Functions`` takes any functions of the inputs.

season = Functions([lambda X: np.sin(np.pi * X[:, 0]), lambda X: np.cos(np.pi * X[:, 0])])
spaces = {
    "a constant": Constant(),
    "a line": Polynomial(1),
    "a line and a season": Polynomial(1) + season,
}
machines = {
    name: KernelRegressor(EpsilonInsensitive(0.1), Gaussian(0.5), null_space=space, C=1.0).fit(
        x[:, None], y
    )
    for name, space in spaces.items()
}
for name, machine in machines.items():
    print(f"{name:20}", machine.null_space_coef_.round(2), f"gap {machine.solution_.gap:.0e}")

# %%
# With the right null space its coefficients estimate the trend and the season themselves, 0.25
# per unit and an amplitude of 0.9. The thin lines are these unpenalized parts alone.

figure, axes = plt.subplots(3, 1, figsize=(9, 6.6), sharex=True, sharey=True)
for k, (ax, (name, machine)) in enumerate(zip(axes, machines.items(), strict=True)):
    parametric = machine.null_space_(grid[:, None]) @ machine.null_space_coef_
    ax.plot(x, y, "o", color="0.65", ms=3)
    ax.plot(grid, truth(grid), color="black", lw=0.8, ls="--")
    ax.plot(grid, parametric, color=f"C{k}", lw=1, alpha=0.6)
    ax.plot(grid, machine.predict(grid[:, None]), color=f"C{k}", lw=2)
    ax.set_title(f"free: {name}", color=f"C{k}")
    ax.set_ylabel("$y$")
ax.set(xlabel="$x$", xlim=(-1, 11))
plt.show()
