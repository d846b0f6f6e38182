r"""
Robust estimates of a location
==============================

A quarter of this sample is noise that has nothing to do with the rest. Matching quantiles takes off
as little as leaves a normal sample,

.. math:: \min \lambda r + \frac1n \sum_i |d_i| \quad\text{where}\quad
          |y_{(i)} - d_{(i)} - \mu - \sigma z_{(i)}| \le r,

a linear program whose answer is not only a location: it has a scale, quantiles, and says which
samples do not belong. See :func:`mercer_research.linear.robust_location`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.linear import robust_location

rng = np.random.default_rng(4)
y, bad = rng.standard_normal(50), rng.random(50) < 0.25
y[bad] = rng.uniform(-2, 10, bad.sum())

found = robust_location(y)
low, high = found.interval(0.9)
print(f"mean {y.mean():.2f}, median {np.median(y):.2f}, by quantiles {found.location:.2f}")
print(f"nine tenths of the nominal law lie between {low:.2f} and {high:.2f}")

# %%
# Samples far off the line of the nominal law are flagged; the uncontaminated ones lie along it.

scores, ordered, _ = found.qq()
flagged = np.sort(y[found.outliers(1.0)])
figure, ax = plt.subplots(figsize=(7, 4.6))
ax.plot(scores, ordered, "o", ms=5, label="sample")
out = np.isin(ordered, flagged)
ax.plot(scores[out], ordered[out], "o", ms=5, label="taken for contamination")
ax.axline((0, found.location), slope=found.scale, color="0.3", lw=1.2, label="nominal law")
ax.axline((0, y.mean()), slope=y.std(), color="0.6", lw=1, ls="--", label="mean and deviation")
ax.legend(frameon=False)
ax.set(xlabel="normal score", ylabel="ordered sample")
plt.show()
