r"""
Tune C and the kernel in one call
=================================

Which C, which width? For the squared loss the error of every sample left out is known from one
factorization, :math:`y_i - f^{(-i)}(x_i) = a_i / Q_{ii}`, and so is its derivative by every
parameter of the kernel. :func:`mercer.tune` goes down that slope: a handful of factorizations where
a grid with five folds takes hundreds of fits. With ``ard=True`` every feature gets a length scale
of its own at hardly more cost, and features that say nothing are told from those that do.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR, tune
from mercer.plotting import CriterionDisplay

rng = np.random.default_rng(0)
X = rng.uniform(size=(200, 8))
y = (
    10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    + 20 * (X[:, 2] - 0.5) ** 2
    + 10 * X[:, 3]
    + 5 * X[:, 4]
    + rng.normal(size=200)
)

one = tune(LSSVR(), X, y, criterion="loo")
each = tune(LSSVR(), X, y, criterion="loo", ard=True)
print(one.report())

# %%
# The report says what was tried: four widths on some of the rows, each with the best C for it, then
# the descent on all of them. On the left it is drawn over the map of the criterion, which a grid
# would have to fill in. On the right, one over the length scale of each feature: the function bends
# along the first three, is a plane in the next two, and does not know the last three. A plane needs
# no short scale, so that a wide one says "straight", not "useless".

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
display = CriterionDisplay.from_estimator(LSSVR(), X, y, tuning=one, ax=left)
left.set_title("mean squared error left out, over its least value")
figure.colorbar(display.map_, ax=left, format=lambda v, _: f"{v:g}" if v < 100 else "")

scales = each.best_params_["kernel"].length_scale
right.bar(np.arange(8), 1 / scales, color=["C0"] * 5 + ["0.7"] * 3)
right.set(xlabel="feature", ylabel="1 / length scale", xticks=np.arange(8))
right.set_title(f"left out: {2 * one.best_value_:.2f}, with ARD {2 * each.best_value_:.2f}")
plt.show()
