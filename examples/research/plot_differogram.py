r"""
Estimate the noise variance before any fit: the differogram
===========================================================

Before any machine is fitted, pairs of samples tell how noisy the outputs are: where inputs are
close, functions hardly differ, and half the squared difference of two outputs is the variance of
the noise,

.. math:: \tfrac12 E[(y_i - y_j)^2 \mid x_i \to x_j] = \sigma_e^2 .

A line through *all* pairs is misled as soon as the function bends; close pairs are not.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.smoothing import noise_variance
from mercer_research.noise import differogram_noise, guess_epsilon
from mercer_research.plotting import DifferogramDisplay

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 3.25, 150))
f = 4.26 * (np.exp(-x) - 4 * np.exp(-2 * x) + 3 * np.exp(-3 * x))
y = f + 0.1 * rng.standard_normal(x.size)

# %%
# Every method comes with a standard deviation, and the tube of a support vector machine follows.

methods = ("gasser", "rice", "mueller", "neighbours", "model")
for found in (differogram_noise(x, y), *(noise_variance(x, y, method) for method in methods)):
    print(f"{found.method:12s} {found.value:.4f} +- {found.std:.4f} (true 0.0100)")
print(f"a tube for this noise: epsilon = {guess_epsilon(found):.3f}")

# %%
# Left the sample, then the cloud of all pairs and its closest tenth, with the fitted lines.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
axes[0].plot(x, y, "o", ms=4, mec="white", mew=0.4)
axes[0].plot(x, f, color="C1", lw=2)
axes[0].set(xlabel="$x$", ylabel="$y$", title="the sample")
for ax, share, title in ((axes[1], 1.0, "all pairs"), (axes[2], 0.1, "the closest tenth")):
    display = DifferogramDisplay.from_data(x, y, neighbourhood=share, ax=ax, color="C0", lw=2)
    ax.axhline(0.01, color="C1", ls="--", lw=1)
    ax.set(title=title, ylim=(0, 3 * np.quantile(display.cloud.halves, 0.75)))
    ax.legend(frameon=False, loc="upper right")
plt.show()
