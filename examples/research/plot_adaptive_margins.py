r"""
A margin for each sample: leave-one-out machines
================================================

A support vector machine with a large weight of errors bends until an outlier lies on its side,
because a pattern may carry itself. The adaptive margin machine adds what a pattern contributes to
itself to the margin that it has to reach,

.. math:: \min_{\alpha, \xi \ge 0} \sum_i \xi_i \quad\text{subject to}\quad
          y_i f(x_i) \ge 1 - \xi_i + \lambda \alpha_i k(x_i, x_i),

so that from :math:`\lambda = 1` on it has to be carried by the others. One dot below lies among the
crosses.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.estimators import AdaptiveMarginSVC
from mercer_research.plotting import AdaptiveMarginDisplay

rng = np.random.default_rng(0)
crosses = rng.normal((-1.0, 0.0), 0.5, size=(20, 2))
dots = rng.normal((1.0, 0.0), 0.5, size=(20, 2))
X = np.vstack([crosses, dots, [[-1.8, 0.0]]])
y = np.append(np.repeat([-1, 1], 20), 1)

kernel = Gaussian(0.5)
machines = {
    "support vectors, C = 100": SVC(C=100.0, kernel=kernel).fit(X, y),
    "adaptive margins, λ = 1": AdaptiveMarginSVC(1.0, kernel=kernel).fit(X, y),
    "adaptive margins, λ = 5": AdaptiveMarginSVC(5.0, kernel=kernel).fit(X, y),
}

# %%
# The margin that a pattern has without its own share tells outliers from the rest. There is no
# weight of errors to choose, and from ``lambda_max_`` on nothing would be left.

adaptive = machines["adaptive margins, λ = 1"]
worst = np.argsort(-adaptive.outlier_scores_)[:3]
for i in worst:
    print(f"sample {i}: margin without itself {adaptive.left_out_margins_[i]:.2f}")
print(f"gap of the linear program {adaptive.solution_.gap:.1e}")
print(f"lambda_max {adaptive.lambda_max_:.2f}")

# %%
# Above, where the machines change their minds; rings are patterns with a coefficient. Below right,
# what is asked of each pattern: those that carry others have to reach more than one.

u = np.linspace(-3.2, 3.2, 160)
grid = np.stack(np.meshgrid(u, 0.75 * u), axis=-1)
figure, axes = plt.subplots(2, 2, figsize=(9, 6.6))
for ax, (title, machine) in zip(axes.flat, machines.items(), strict=False):
    f = machine.decision_function(grid.reshape(-1, 2)).reshape(160, 160)
    ax.contourf(u, 0.75 * u, f > 0, levels=[-0.5, 0.5, 1.5], colors=["#f3d9c9", "#cfe3f0"])
    ax.contour(u, 0.75 * u, f, levels=[0.0], colors="k", linewidths=1.2)
    ax.plot(*X[y < 0].T, "x", color="C1", ms=6)
    ax.plot(*X[y > 0].T, "o", color="C0", ms=5)
    ax.plot(*X[machine.support_].T, "o", mfc="none", mec="k", ms=10, mew=0.7)
    ax.set(title=title, xticks=[], yticks=[])
display = AdaptiveMarginDisplay.from_estimator(machines["adaptive margins, λ = 5"], ax=axes[1, 1])
display.ax_.annotate(
    "the outlier",
    (machines["adaptive margins, λ = 5"].left_out_margins_[-1], 1.0),
    (38, 24),
    textcoords="offset points",
    ha="center",
    arrowprops={"arrowstyle": "-", "color": "0.5"},
)
display.ax_.set_title("required margins, λ = 5")
plt.show()
