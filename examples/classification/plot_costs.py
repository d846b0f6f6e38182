r"""
Unequal costs of mistakes
=========================

A missed alarm may cost more than a false one. ``class_weight`` multiplies the weight :math:`c_i`
of every sample of a class in

.. math:: \tfrac12 \|f\|^2 + \sum_i c_i \max\bigl(0,\, 1 - y_i f(x_i)\bigr),

so a machine with weight 8 on a class is exactly the one that has seen each of its samples eight
times. Left, the boundary moves outwards as misses become dearer. Right, the trade that this makes
on new data, one dot a machine: fewer misses are paid for with more false alarms.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.kernels import Gaussian


def draw(n, rng):
    y = (rng.random(n) < 0.12).astype(int)
    common = rng.standard_normal((n, 2)) * [1.0, 0.8]
    rare = [1.5, 1.0] + 0.5 * rng.standard_normal((n, 2))
    return np.where(y[:, None] == 1, rare, common), y


rng = np.random.default_rng(0)
X, y = draw(400, rng)
X_test, y_test = draw(20000, rng)
weights = [1, 2, 4, 8, 16]

u, v = np.meshgrid(np.linspace(-2.7, 3.9, 200), np.linspace(-2.2, 3.0, 160))
points = np.column_stack([u.ravel(), v.ravel()])
shades = plt.colormaps["viridis"](np.linspace(0.0, 0.85, len(weights)))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[1.35, 1])
left.scatter(*X[y == 0].T, s=8, color="0.7")
left.scatter(*X[y == 1].T, s=14, color="C1")
trade = []
for weight, shade in zip(weights, shades, strict=True):
    machine = SVC(kernel=Gaussian(0.7), C=1.0, class_weight={1: weight}).fit(X, y)
    f = machine.decision_function(points).reshape(u.shape)
    left.contour(u, v, f, levels=[0], colors=[shade], linewidths=2)
    alarm = machine.predict(X_test) == 1
    trade.append([np.mean(alarm[y_test == 0]), np.mean(~alarm[y_test == 1])])
left.set(xticks=[], yticks=[], xlim=(-2.7, 3.9), ylim=(-2.2, 3.0))
left.spines[:].set_visible(False)

false_alarms, misses = 100 * np.array(trade).T
right.plot(false_alarms, misses, color="0.7", lw=1, zorder=0)
right.scatter(false_alarms, misses, s=60, c=shades)
for x_value, y_value, weight, shade in zip(false_alarms, misses, weights, shades, strict=True):
    right.annotate(
        f"weight {weight}", (x_value, y_value), (9, 4), textcoords="offset points", color=shade
    )
left.text(-2.4, 1.9, "common", color="0.5")
left.text(3.0, 2.3, "rare", color="C1")
right.set(xlabel="false alarms, %", ylabel="misses, %", xlim=(0, None), ylim=(0, None))
plt.show()
