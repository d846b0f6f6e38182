r"""
Bound the norm, bound the loss, or weigh them
=============================================

The smallest loss of a function whose norm is at most :math:`\Lambda`, the smallest norm of a
function whose loss is at most :math:`\Lambda'`, and the smallest sum of both are one curve: every
machine is a point of it, and every bound the machine of some C. Where the curve bends is the corner
that L-curves speak of.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR
from mercer.kernels import Gaussian
from mercer_research.selection import FixedComplexity, pareto_path

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(-3, 3, 80))
y = np.sinc(x) + 0.15 * rng.standard_normal(x.size)
X = x[:, None]
machine = SVR(kernel=Gaussian(0.4), epsilon=0.05, tol=1e-5)

# %%
# The front, by 25 values of C, and two machines that were asked for by what they may be.

path = pareto_path(machine, X, y, np.logspace(-2, 1.5, 25))
smooth = FixedComplexity(machine, max_norm=0.8).fit(X, y)
accurate = FixedComplexity(machine, max_risk=0.056).fit(X, y)
print(f"corner at C = {path.best:.3g}")
print(f"norm {smooth.norm_:.4f} at C = {smooth.C_:.4g}, mean loss {smooth.risk_:.4f}")
print(f"norm {accurate.norm_:.4f} at C = {accurate.C_:.4g}, mean loss {accurate.risk_:.4f}")

# %%
# Left the front, right the two functions.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
left.loglog(path.norms, path.risks, "o-", color="0.6", ms=4)
left.plot(path.norms[path.corner], path.risks[path.corner], "s", color="C2", ms=9)
left.annotate(
    "corner",
    (path.norms[path.corner], path.risks[path.corner]),
    (12, 12),
    textcoords="offset points",
    color="C2",
)
grid = np.linspace(-3, 3, 400)
right.plot(x, y, ".", color="0.6")
for model, color, text in [
    (smooth, "C0", r"$\|f\| \leq 0.8$"),
    (accurate, "C1", r"loss $\leq 0.056$"),
]:
    left.plot(model.norm_, model.risk_, "o", color=color, ms=9)
    right.plot(grid, model.predict(grid[:, None]), color=color, lw=2, label=text)
left.set(xlabel=r"norm $\|f\|$", ylabel="mean loss")
left.set_xticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
left.set_yticks([0.06, 0.1, 0.2], ["0.06", "0.1", "0.2"])
left.minorticks_off()
right.set(xlabel="$x$", ylabel="$y$")
right.legend(frameon=False)
plt.show()
