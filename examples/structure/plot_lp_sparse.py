r"""
Sparse expansions from any dictionary
=====================================

A support vector machine has a coefficient for every point on or outside of its tube. Charging for
the coefficients themselves,

.. math:: \min_{a, b}\; \sum_j |a_j| + C \sum_i \max(0, |y_i - f(x_i)| - \epsilon), \qquad
          f = \sum_j a_j k(z_j, \cdot) + b,

is a linear program, whose solution is a vertex: most coefficients are zero. The functions need not
come from a kernel either. Here they are of two widths at once, which the machine chooses from.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR
from mercer.estimators import SparseRegressor
from mercer.kernels import Gaussian

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 10, 150))
truth = np.sin(0.6 * x) + np.exp(-(((x - 6.5) / 0.25) ** 2))
y = truth + 0.15 * rng.standard_normal(x.size)
X = x[:, None]

# %%
# The dictionary is a matrix with a row a sample and a column a function: 150 wide functions and 150
# narrow ones. ``kernel="precomputed"`` takes it as it is.


def dictionary(points):
    return np.hstack([Gaussian(width)(points, X) for width in (2.0, 0.25)])


sparse = SparseRegressor(kernel="precomputed", C=1.0).fit(dictionary(X), y)
machine = SVR(kernel=Gaussian(0.5), C=1.0, epsilon=0.1, tol=1e-6).fit(X, y)
print(f"{len(machine.support_)} support vectors, {len(sparse.support_)} functions of 300")
solution = sparse.solution_
print(f"objective {solution.objective:.6f}, proved to be at most {solution.gap:.0e} too high")
print(f"no function at all is used up to C = {sparse.C_min_:.4f}")

# %%
# The few functions, each with its coefficient, and their sum.

grid = np.linspace(0, 10, 600)
columns = dictionary(grid[:, None])
figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5.6), sharex=True)
top.plot(x, y, ".", color="0.6")
top.plot(grid, machine.predict(grid[:, None]), color="C1", lw=1.2)
top.plot(grid, sparse.predict(columns), color="C0", lw=2)
top.text(0.02, 0.12, f"{len(sparse.support_)} functions", color="C0", transform=top.transAxes)
top.text(
    0.02, 0.03, f"{len(machine.support_)} support vectors", color="C1", transform=top.transAxes
)
for j, a in zip(sparse.support_, sparse.dual_coef_[0], strict=True):
    bottom.plot(grid, a * columns[:, j], color="C2" if j < x.size else "C3", lw=1.3)
bottom.text(0.02, 0.12, "wide", color="C2", transform=bottom.transAxes)
bottom.text(0.02, 0.03, "narrow", color="C3", transform=bottom.transAxes)
bottom.set(xlabel="$x$", ylabel="$a_j k_j(x)$")
top.set(ylabel="$y$")
plt.show()
