r"""
Censored targets: above the limit of an instrument
==================================================

An instrument shows no more than 0.6. To take its limit for a value bends the function; to leave
such points out tears a hole into it. What is known is that the value is *at least* 0.6: an interval
without an upper end, and the distance to it is the error,

.. math:: \min_f \tfrac12 \|f\|^2 + \tfrac C2 \sum_i d(f(x_i), [y_i^-, y_i^+])^2 .

Points whose bound the function respects have no coefficient: they are no support vectors. This is
figure 4.4 of K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import CensoredRegressor, KernelRegressor

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-3, 3, 75))
y = np.sinc(x) + 0.1 * rng.normal(size=75)
limit = 0.6
seen = y < limit
ends = np.column_stack([np.where(seen, y, limit), np.where(seen, y, np.inf)])

settings = {"gamma": 1 / 0.7**2, "C": 20.0}
machines = {
    "the limit taken for a value": (KernelRegressor(**settings).fit(x[:, None], ends[:, 0]), "C1"),
    "left out": (KernelRegressor(**settings).fit(x[seen, None], y[seen]), "C4"),
    "known to be at least the limit": (CensoredRegressor(**settings).fit(x[:, None], ends), "C0"),
}
grid = np.linspace(-3, 3, 300)
figure, ax = plt.subplots(figsize=(9, 4.5))
ax.plot(grid, np.sinc(grid), "k:", label="truth")
for name, (machine, colour) in machines.items():
    ax.plot(grid, machine.predict(grid[:, None]), colour, label=name)
ax.plot(x[seen], y[seen], "k.", ms=4)
ax.plot(x[~seen], ends[~seen, 0], "k^", ms=5, label="at least")
ax.set(xlabel="$x$", ylabel="$y$")
ax.axhline(limit, color="0.7", lw=0.8)
ax.legend(frameon=False, loc="upper left")

# %%
# The active set of the machine, those points that are known or whose bound is crossed, was found by
# a few linear systems; the duality gap says how well.

machine = machines["known to be at least the limit"][0]
print(f"{np.sum(~seen)} censored points, {75 - len(machine.support_)} of them without coefficient")
print(f"{machine.n_iter_} linear systems, duality gap {machine.solution_.gap:.1e}")
for name, (fitted, _) in machines.items():
    error = np.sqrt(np.mean((fitted.predict(grid[:, None]) - np.sinc(grid)) ** 2))
    print(f"{name:32s} error {error:.3f}, peak {fitted.predict(grid[:, None]).max():.2f}")
plt.show()
