r"""
Define a loss of your own
=========================

Somebody has to order goods for the next day. What is missing costs four times as much as what is
left over, and errors up to a tolerance :math:`\epsilon` do not matter:

.. math:: \rho(r) = \begin{cases} 4\,(r - \epsilon) & r > \epsilon \\ 0 & |r| \le \epsilon \\
          -r - \epsilon & r < -\epsilon \end{cases} \qquad r = y - f.

No library has this loss, but it takes two lines to have it. Its conjugate is
:math:`\rho^*(u) = \epsilon |u|` for slopes :math:`-1 \le u \le 4`, and a loss is *defined* by the
numbers of its conjugate: the width of the flat part is the kink at zero, the cheapest and the
dearest slope are the bounds. Value, derivative, solver and certificate follow.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import Conjugate, ResidualLoss


@dataclass(eq=False)
class Shortage(ResidualLoss):
    """Missing goods cost `price` a unit, spare goods one; small errors are free."""

    epsilon: float = 0.25
    price: float = 4.0

    def terms(self):
        return Conjugate(kink=self.epsilon, lower=-1.0, upper=self.price)


# %%
# Demand through the day, whose spread grows with its level. The machine for the new loss orders
# more than the typical demand, and most so where demand is uncertain.

rng = np.random.default_rng(0)
hour = np.sort(rng.uniform(6, 22, 260))
level = 4 + 3 * np.exp(-(((hour - 12) / 1.8) ** 2)) + 2 * np.exp(-(((hour - 18.5) / 1.4) ** 2))
demand = level * np.exp(0.17 * rng.standard_normal(hour.size))
loss = Shortage()
grid = np.linspace(6, 22, 400)
orders = {}
for name, chosen in [("for the shortage loss", loss), ("for the absolute loss", "absolute")]:
    machine = KernelRegressor(chosen, Gaussian(1.5), C=2.0).fit(hour[:, None], demand)
    orders[name] = machine.predict(grid[:, None])
    cost = loss.value(demand, machine.predict(hour[:, None])).mean()
    solution = machine.solution_
    print(f"{name}: costs {cost:.2f} a day ({solution.solver}, gap {solution.gap:.0e})")

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), width_ratios=[1, 2.2])
residual = np.linspace(-2, 2, 401)
left.plot(residual, loss.value(residual, np.zeros_like(residual)), color="C1", lw=2)
left.text(0.95, 3.9, "missing", ha="right")
left.text(-1.1, 1.4, "left over", ha="center")
left.set(xlabel="demand minus order", ylabel="cost", ylim=(0, 5))
right.plot(hour, demand, "o", color="0.65", ms=3)
for (name, order), color, y in zip(orders.items(), ["C1", "C0"], [8.9, 1.6], strict=True):
    right.plot(grid, order, color=color, lw=2)
    right.text(15.2, y, name, color=color, ha="center")
right.set(xlabel="hour", ylabel="demand", xlim=(6, 22), ylim=(0, None))
plt.show()
