r"""
Look at a Gram matrix before any fit
====================================

The width of a kernel matters more than its family, and the Gram matrix shows it without fitting
anything. Points are two moons in the order of their class. Too narrow, and every point is
similar to itself only: the matrix is the identity, all eigenvalues are alike and a machine will
memorize. Too wide, and all points are similar: one eigenvalue holds everything, the rest
is rounding. In between the matrix shows the classes. No single number tells this: the wide kernel
even aligns best with the labels, because a line tells most of the moons apart, but it has only
two dimensions to do more.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer.inspect import default_width, gram_report
from mercer.kernels import Gaussian
from mercer.plotting import GramDisplay

X, label = make_moons(120, noise=0.1, random_state=0)
order = np.argsort(label, kind="stable")
X, y = X[order], 2.0 * label[order] - 1.0
median = default_width(X)

figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), sharey="row")
for column, width in zip(axes.T, [median / 50, median / 4, median * 10], strict=True):
    display = GramDisplay.from_kernel(Gaussian(width), X, y, ax=column, vmin=0, vmax=1)
    report = display.report
    column[0].set_title(f"width {width:.2g}")
    column[1].set_title(
        f"centred alignment {report.centred_alignment:.2f}, dimension {report.dimension:.0f}"
    )
    column[1].set_ylim(1e-17, 300)
plt.show()

# %%
# The report has all the numbers.

print(gram_report(Gaussian(median / 4), X, y))
