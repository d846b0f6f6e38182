r"""
C as a part of the fit
======================

The least-squares machines of all C are a curve. In the eigenvectors of the kernel matrix each of
them is a list of shrinkage factors,

.. math:: \mu_j = \frac{\sigma_j}{\sigma_j + 1/C},

and the errors on validation data are quadratic in them. :class:`~mercer_research.fusion.FusedLSSVR`
minimizes these errors over the curve, over its convex hull (averages of machines), or over all
filters that are ordered as those of a C are (a convex program). Each set holds the one before it,
so that its best machine errs no more on the validation data, and the minimum over the largest set
bounds what any C can reach.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer_research.fusion import FusedLSSVR

rng = np.random.default_rng(2)
X = rng.uniform(-3, 3, (110, 1))
y = np.sinc(X[:, 0]) + 0.3 * rng.standard_normal(110)
train, held_out = slice(60), slice(60, None)

names = {"path": "best C", "hull": "average of machines", "spectral": "ordered filter"}
machines = {
    strategy: FusedLSSVR(Gaussian(0.5), strategy=strategy).fit(
        X[train], y[train], X_val=X[held_out], y_val=y[held_out]
    )
    for strategy in names
}
for strategy, machine in machines.items():
    print(f"{names[strategy]:20s} squared validation errors {machine.cost_:.4f}")

# %%
# On the left the cost of every C, with the three minima. On the right the filters: a single C is
# a sigmoid in the logarithm of the eigenvalue, an average of machines a mixture of sigmoids, and
# the convex program is free to take steps.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
C, cost = machines["path"].validation_curve_
inside = (C > 1e-3) & (C < 1e3)
left.semilogx(C[inside], cost[inside], color="0.4", lw=1.5)
for k, (strategy, machine) in enumerate(machines.items()):
    left.axhline(machine.cost_, color=f"C{k}", lw=1, ls="--")
    side = "top" if strategy == "hull" else "bottom"
    left.text(1e3, machine.cost_, names[strategy], color=f"C{k}", ha="right", va=side)
    right.semilogx(machine.values_, machine.filter_, "o-", color=f"C{k}", ms=4, lw=1.2)
best = machines["path"]
left.plot(best.C_, best.cost_, "o", color="C0")
low = machines["spectral"].cost_
left.set(
    xlabel="$C$",
    ylabel="squared validation errors",
    ylim=(low - 0.1, best.cost_ + 0.8),
    xlim=(1e-3, 1e3),
)
right.set(xlabel=r"eigenvalue $\sigma_j$", ylabel=r"shrinkage $\mu_j$")
plt.show()
