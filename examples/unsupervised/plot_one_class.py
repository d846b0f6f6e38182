r"""
Novelty detection: where the data live
======================================

A one-class machine draws the region in which most of a sample lies. It maximizes the level
:math:`\rho` that a smooth function exceeds on the sample,

.. math:: \min_{f, \rho}\; \tfrac12 \|f\|^2 + \sum_i \bigl(\max(0, \rho - f(x_i)) - \nu \rho\bigr),

and calls :math:`f(x) < \rho` an outlier. At most a fraction :math:`\nu` of the sample is left
outside, so :math:`\nu` is chosen as one would choose a significance level. Each shade below is
the region for another :math:`\nu`, and the print-out counts.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import OneClassSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
turn = np.sqrt(rng.uniform(0.04, 1, 500)) * 3.4 * np.pi
spiral = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)]) / 10
X = np.concatenate([spiral + 0.06 * rng.standard_normal((500, 2)), rng.uniform(-1.2, 1.2, (25, 2))])

u, v = np.meshgrid(np.linspace(-1.4, 1.4, 240), np.linspace(-1.4, 1.4, 240))
points = np.column_stack([u.ravel(), v.ravel()])

levels = [0.02, 0.1, 0.3, 0.6]
shades = plt.colormaps["Blues"]([0.15, 0.3, 0.45, 0.6])
figure, ax = plt.subplots(figsize=(6.4, 6))
for k, (nu, shade) in enumerate(zip(levels, shades, strict=True)):
    machine = OneClassSVM(nu=nu, kernel=Gaussian(0.2), tol=1e-5).fit(X)
    outside = np.mean(machine.decision_function(X) < -1e-4)
    print(f"nu {nu:4.0%}: {outside:4.0%} outside, {machine.support_.size / len(X):4.0%} carry it")
    region = machine.decision_function(points).reshape(u.shape)
    ax.contourf(u, v, region, levels=[0, 1e9], colors=[shade])
    ax.contour(u, v, region, levels=[0], colors="C0", linewidths=0.8)
    box = {"fc": shade, "ec": "C0", "lw": 0.8}
    ax.text(1.3, 1.3 - 0.16 * k, rf"$\nu =$ {nu:.0%}", ha="right", va="top", bbox=box)
ax.scatter(*X.T, s=9, color="black", alpha=0.6, lw=0)
ax.set(aspect="equal", xticks=[], yticks=[])
ax.spines[:].set_visible(False)
plt.show()
