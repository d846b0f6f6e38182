r"""
Iteratively reweighted least squares: what outliers weigh
=========================================================

A robust least-squares machine is a weighted one whose weights answer to its own residuals,

.. math:: w_i = w(r_i), \qquad \tfrac12 \|f\|^2 + \tfrac C2 \sum_i w_i r_i^2 \to \min, \qquad
          \rho(r) = \int_0^r t\, w(t)\, dt.

Fitted again and again, the objective with :math:`\rho` falls. Huber's weights,
:math:`\min(1, c/|r|)`, bound the pull of an observation, and lead to the minimum of a convex
problem, certified by its duality gap. Tukey's redescend: beyond some size an observation does not
pull at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.estimators import RobustLSSVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(-3, 3, 100))
y = np.sinc(x) + 0.1 * rng.normal(size=x.size)
wrong = rng.permutation(x.size)[:20]
y[wrong] = rng.uniform(-2.0, 3.0, wrong.size)

settings = {"kernel": Gaussian(0.7), "C": 10.0}
machines = {
    "least squares": LSSVR(**settings),
    "Huber": RobustLSSVR(**settings),
    "bisquare": RobustLSSVR(method="bisquare", **settings),
}
for machine in machines.values():
    machine.fit(x[:, None], y)

# %%
# The scale of the errors comes from the median of absolute residuals, which a fifth of wrong
# observations hardly moves. Huber's machine says how far from the minimum it can be.

huber = machines["Huber"]
print(f"scale {huber.scale_:.3f}, threshold {huber.c_:.3f}")
print(f"{huber.solution_.n_iter} machines, gap {huber.solution_.gap:.1e}")

# %%
# On the left the functions; on the right what each observation weighs.

grid = np.linspace(-3, 3, 400)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.7, 1])
left.plot(grid, np.sinc(grid), color="0.6", lw=1.2, ls="--")
for k, (name, machine) in enumerate(machines.items()):
    left.plot(grid, machine.predict(grid[:, None]), color=f"C{k}", lw=2, label=name)
size = 6 + 40 * machines["bisquare"].weights_
left.scatter(x, y, s=size, color="0.35", lw=0, alpha=0.7)
left.set(xlabel="$x$", ylabel="$y$")
left.legend(frameon=False)
for k, name in enumerate(("Huber", "bisquare"), start=1):
    r = y - machines[name].predict(x[:, None])
    right.plot(r, machines[name].weights_, "o", color=f"C{k}", ms=4, mec="white", mew=0.3)
    right.text(0.02, 0.92 - 0.1 * k, name, color=f"C{k}", transform=right.transAxes)
right.set(xlabel="residual", ylabel="weight", ylim=(-0.03, 1.05))
left.set_title("points are drawn as large as they weigh")
plt.show()
