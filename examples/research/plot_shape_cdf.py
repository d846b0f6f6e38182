r"""
A distribution function of positive times
=========================================

Lengths of 86 treatments in days. Windows around the observations either break up the tail or leak
below zero; no width does both. A smooth distribution function that is monotone, zero at zero and
close to the empirical one knows where time begins, and its derivative is a density:

.. math:: \min_f\; \tfrac12 \|f\|^2 + C\, L(f; \hat F) \quad \text{subject to}\quad
          f' \ge 0,\; f(0) = 0,\; f(\infty) = 1.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer_research.density import EmpiricalCDF, KernelCDF, ParzenWindow

# B. W. Silverman, Density Estimation, 1986, table 2.1.
table = (
    "1 1 1 5 7 8 8 13 14 14 17 18 21 21 22 25 27 27 30 30 31 31 32 34 35 36 37 38 39 39 "
    "40 49 49 54 56 56 62 63 65 65 67 75 76 79 82 83 84 84 84 90 91 92 93 93 103 103 111 "
    "112 119 122 123 126 129 134 144 147 153 163 167 175 228 231 235 242 256 256 257 311 "
    "314 322 369 415 573 609 640 737"
)
days = np.array([float(day) for day in table.split()])[:, None]

squared = KernelCDF("squared", Gaussian(100.0), C=100.0, support=(0.0, None)).fit(days)
largest = KernelCDF("largest", Gaussian(100.0), C=10.0, support=(0.0, None)).fit(days)
print(f"largest distance to the jumps: {squared.discrepancy_:.3f} and {largest.discrepancy_:.3f}")
print(f"half of the treatments end within {squared.quantile(0.5):.0f} days")

# %%
# Left the distribution functions, right their derivatives beside two windows.

grid = np.linspace(-80, 850, 900)[:, None]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
left.plot(grid, EmpiricalCDF().fit(days).cdf(grid), color="0.6", lw=1, label="empirical")
left.plot(grid, squared.cdf(grid), label="squared loss")
left.plot(grid, largest.cdf(grid), label="largest distance")
right.plot(grid, squared.pdf(grid), label="squared loss")
right.plot(grid, largest.pdf(grid), label="largest distance")
for width, style in ((20.0, ":"), (60.0, "--")):
    window = ParzenWindow(bandwidth=width).fit(days)
    right.plot(grid, window.pdf(grid), style, color="0.45", lw=1, label=f"window of {width:.0f}")
left.set(xlabel="days", ylabel="distribution function")
right.set(xlabel="days", ylabel="density")
left.legend(frameon=False, fontsize=9)
right.legend(frameon=False, fontsize=9)
plt.show()
