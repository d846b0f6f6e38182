r"""
The duality gap: a bound on the error of the solution
=====================================================

The exact minimum of a problem is not known, but it can be bracketed. Whatever coefficients a
solver holds give an objective, which the minimum cannot exceed, and through the dual problem a
value that no function can go below. Their difference is the duality gap,

.. math:: \text{gap} = \sum_i c_i \bigl( l(y_i, f_i) + l^*(y_i, v_i) - v_i f_i \bigr),
          \qquad v_i = -a_i / c_i,

a sum of terms that are never negative, computed from the answer alone and by the same lines of
code for every solver. So a machine that was stopped early still says how far it is from the best
one.

Below, a classifier is stopped after more and more steps of its solver. The bracket closes on the
minimum, and the boundary (gray, the exact one) stops moving long before the last digit is right:
that is how to choose a tolerance.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC

X, y = make_moons(240, noise=0.25, random_state=3)


def stopped(max_iter, tol=1e-9):
    return SVC(C=10.0, gamma=2.0, tol=tol, max_iter=int(max_iter)).fit(X, y)


steps = np.unique(np.geomspace(5, 400, 80).astype(int))
shown = [20, 30, 60, 150]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the point here
    solutions = [stopped(k).solution_ for k in steps]
    machines = [stopped(k) for k in shown]
exact = stopped(-1)
minimum = exact.solution_.objective
print(f"minimum {minimum:.9f}, known to {exact.solution_.gap:.0e}")

# %%
# ``solution_.objective`` and ``solution_.dual`` are the two sides of the bracket.

upper = np.array([s.objective for s in solutions]) / minimum
lower = np.array([s.dual for s in solutions]) / minimum

u, v = np.meshgrid(np.linspace(-1.6, 2.7, 160), np.linspace(-1.5, 1.7, 160))
points = np.column_stack([u.ravel(), v.ravel()])
truth = exact.decision_function(points).reshape(u.shape)

figure, panels = plt.subplot_mosaic(
    [["first", "second", "third", "fourth"], ["bracket"] * 4],
    figsize=(10, 6),
    height_ratios=[1, 1.2],
)
bracket = panels.pop("bracket")
for ax, k, machine in zip(panels.values(), shown, machines, strict=True):
    f = machine.decision_function(points).reshape(u.shape)
    ax.contourf(u, v, f, levels=[-1e9, 0, 1e9], colors=["C0", "C1"], alpha=0.15)
    ax.contour(u, v, truth, levels=[0], colors="0.5", linewidths=4)
    ax.contour(u, v, f, levels=[0], colors="black", linewidths=1.5)
    ax.scatter(*X.T, s=9, c=np.where(y == 1, "C1", "C0"))
    ax.set(xticks=[], yticks=[], title=f"{k} steps: gap {machine.solution_.gap / minimum:.1%}")
    ax.spines[:].set_visible(False)

bracket.fill_between(steps, lower, upper, color="C2", alpha=0.2, lw=0)
bracket.plot(steps, upper, color="C2", lw=2)
bracket.plot(steps, lower, color="C2", lw=2)
bracket.vlines(shown, 0, 3, color="0.7", lw=0.8, zorder=0)
bracket.axhline(1, color="black", lw=0.8, ls="--")
bracket.text(26.5, 2.1, "objective", color="C2")
bracket.text(10.5, 0.25, "no function goes below", color="C2")
bracket.text(395, 1.05, "minimum", ha="right")
bracket.set(xscale="log", xlim=(steps[0], steps[-1]), ylim=(0, 3), xticks=shown)
bracket.set(xlabel="steps of the solver", ylabel="value / minimum")
bracket.xaxis.set_major_formatter("{x:.0f}")
bracket.xaxis.set_minor_locator(plt.NullLocator())
plt.show()
