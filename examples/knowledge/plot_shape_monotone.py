r"""
Monotone regression, proved between the samples
===============================================

Sixty noisy answers to a dose. That the effect does not fall with the dose, and levels off at one,
is known beforehand, so it is part of the problem:

.. math:: \min_f\; \tfrac12 \|f\|^2 + C \sum_i \tfrac12 (y_i - f(x_i))^2 \quad
          \text{subject to}\quad f' \ge 0,\; f \le 1.

Knowledge is a list of values. With ``prove=True`` it is proved to hold between the steps at which
it is asked for, by the norm of the function and the derivatives of the kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor, ShapeConstrainedRegressor
from mercer.kernels import Gaussian
from mercer.plotting import ShapeDisplay
from mercer.regularizers import Bounded, Increasing

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(0, 10, (60, 1)), axis=0)
y = 1 / (1 + np.exp(4 - X[:, 0])) + 0.25 * rng.standard_normal(60)

free = KernelRegressor(kernel=Gaussian(1.0), C=10.0).fit(X, y)
known = [Increasing(0), Bounded(at_most=1.0)]
machine = ShapeConstrainedRegressor(known, kernel=Gaussian(1.0), C=10.0, prove=True).fit(X, y)

# %%
# The certificate says what was found and what is proved; prices are multipliers: by how much the
# objective would fall per unit by which a piece of knowledge were loosened.

certificate = machine.shape_certificate_
print(f"largest violation seen {certificate.violation:.1e}, not excluded {certificate.proved:.1e}")
for piece in certificate.knowledge:
    print(f"{piece.constraint}: price {piece.price:.3g}, active in {piece.n_active} rows")

# %%
# Marks at the foot show where the knowledge changes the function.

figure, ax = plt.subplots(figsize=(9, 4.6))
ax.plot(X, y, "o", color="0.6", ms=4)
grid = np.linspace(X.min(), X.max(), 400)[:, None]
ax.plot(grid, free.predict(grid), "--", color="0.35", label="without knowledge")
ShapeDisplay.from_estimator(machine, X, ax=ax, name="rises, at most 1", lw=2.2)
ax.set(xlabel="dose", ylabel="effect")
ax.legend(frameon=False, fontsize=9)
plt.show()
