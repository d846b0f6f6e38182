r"""
Soft margins: what C decides
============================

A support vector classifier minimizes

.. math:: \tfrac12 \|f\|^2 + C \sum_i \max\bigl(0,\, 1 - y_i f(x_i)\bigr).

Small :math:`C` asks for a smooth function and tolerates points inside the margin :math:`|f| < 1`
or on the wrong side; large :math:`C` tolerates none and bends. The margin (between the dashed
lines) narrows, and the points that carry the machine (circled) become few. ``SVC`` takes
scikit-learn's parameters and has its attributes; only the import differs.

The bottom panel follows the whole path. Warm starts make it cheap: each fit begins with the
coefficients of the one before.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (160, 2)) * [2.0, 1.2]
height = X[:, 1] - 0.6 * np.sin(2.2 * X[:, 0])
y = np.where(height + 0.15 * rng.standard_normal(160) > 0, 1, -1)

u, v = np.meshgrid(np.linspace(-2.1, 2.1, 180), np.linspace(-1.3, 1.3, 140))
points = np.column_stack([u.ravel(), v.ravel()])
shown = [0.1, 3.0, 300.0]
path = np.geomspace(0.05, 2000, 25)

machine = SVC(gamma=1.0, tol=1e-4, warm_start=True)
support, inside, wrong = [], [], []
for C in path:
    f = machine.set_params(C=C).fit(X, y).decision_function(X)
    support.append(machine.support_.size)
    inside.append(np.sum(y * f < 1 - 1e-3))
    wrong.append(np.sum(y * f < 0))

# %%
# ``decision_function`` on a grid gives boundary and margin as contours at 0 and at plus and minus
# one.

figure, panels = plt.subplot_mosaic(
    [["0", "1", "2"], ["path"] * 3], figsize=(10.5, 5.6), height_ratios=[1.4, 1]
)
axes = panels.pop("path")
for ax, C in zip(panels.values(), shown, strict=True):
    machine = SVC(gamma=1.0, C=C).fit(X, y)
    f = machine.decision_function(points).reshape(u.shape)
    ax.contourf(u, v, f, levels=[-1e9, 0, 1e9], colors=["C0", "C1"], alpha=0.15)
    ax.contour(u, v, f, levels=[-1, 1], colors="black", linewidths=0.8, linestyles="--")
    ax.contour(u, v, f, levels=[0], colors="black", linewidths=2)
    ax.scatter(*X.T, s=12, c=np.where(y == 1, "C1", "C0"))
    ax.scatter(*machine.support_vectors_.T, s=40, fc="none", ec="black", lw=0.6)
    ax.set(xticks=[], yticks=[], title=f"$C = {C:g}$")
    ax.spines[:].set_visible(False)

for count, color in [(support, "C2"), (inside, "C3"), (wrong, "C4")]:
    axes.plot(path, count, color=color, lw=2)
axes.text(12, 37, "support vectors", color="C2")
axes.text(0.42, 46, "inside the margin", color="C3", ha="right")
axes.text(0.4, 15, "on the wrong side", color="C4")
axes.vlines(shown, 0, y.size, color="0.7", lw=0.8, zorder=0)
axes.set(xscale="log", xlim=(path[0], path[-1]), ylim=(0, None), xlabel="$C$", ylabel="points")
plt.show()
