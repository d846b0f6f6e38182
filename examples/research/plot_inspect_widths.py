r"""
Widths of different kernels that mean the same
==============================================

A length scale of 1 is something else for every kernel. Two kernels act alike if their attenuations
agree wherever anything passes, say above half a percent. To second order at frequency zero a
B-spline of degree q and scale s is a Gaussian of width :math:`s \sqrt{(q+1)/12}`; the best width
for the whole band is found by minimizing the worst ratio.

The left picture is figure 3.6 of A. J. Smola, *Learning with Kernels*, TU Berlin 1998: a spline
whose second moment is that of a Gaussian with variance 20 in frequency. They agree
where it matters and part below one percent. On the right the width is chosen for the whole band.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import BSpline, Gaussian
from mercer_research.diagnostics import equivalent_width
from mercer_research.plotting import ComparisonDisplay

gaussian = Gaussian(float(np.sqrt(1 / 20)))
matches = {
    "equal second moments": equivalent_width(gaussian, BSpline(), 5e-3, method="moments"),
    "smallest worst ratio": equivalent_width(gaussian, BSpline(), 5e-3),
}

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
for ax, (title, match) in zip(axes, matches.items(), strict=True):
    names = ("Gaussian", f"$B_3$ of scale {match.kernel.length_scale:.3f}")
    ComparisonDisplay(comparison=match.comparison).plot(ax, names=names, lw=2)
    ax.set_title(f"{title}: at most a factor {match.comparison.worst_factor:.2f}")
    ax.set_xticks(np.pi * np.arange(5), ["0", r"$\pi$", r"$2\pi$", r"$3\pi$", r"$4\pi$"])
axes[1].set_ylabel("")
plt.show()

# %%
# So a Gaussian can be replaced by a kernel with compact support, whose Gram matrix is sparse.

print(matches["smallest worst ratio"])
