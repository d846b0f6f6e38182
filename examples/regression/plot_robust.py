r"""
Robust regression: outliers under squared and robust losses
===========================================================

Three losses, one kernel, and data in which some observations are grossly wrong:

.. math:: \rho(r) = \tfrac12 r^2, \qquad
          \rho(r) = \begin{cases} \tfrac12 r^2 & |r| \le \delta \\
          \delta |r| - \tfrac12 \delta^2 & |r| > \delta \end{cases}, \qquad \rho(r) = |r|.

The pull of an observation on the function is its coefficient, :math:`a_i = c_i\, \rho'(r_i)`. It
grows with the residual for the squared loss, is capped at :math:`C \delta` for Huber's loss, and
is :math:`\pm C` for the absolute one whatever the residual.

On the left all three see the same data. On the right the share of wrong observations grows: the
squared loss is the best of the three as long as there are none, and the first to fail.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Huber, Squared

losses = {"squared": Squared(), "Huber": Huber(0.15), "absolute": Absolute()}
grid = np.linspace(0, 6, 200)[:, None]


def truth(x):
    return np.sin(x) + 0.5 * np.cos(2 * x)


def draw(share, rng, n=100):
    x = np.sort(rng.uniform(0, 6, n))
    y = truth(x) + 0.1 * rng.standard_normal(n)
    wrong = rng.permutation(n) < share * n
    return x[:, None], np.where(wrong, rng.uniform(1.5, 4.0, n), y), wrong


def fit(loss, X, y):
    return KernelRegressor(loss, Gaussian(0.8), C=3.0).fit(X, y).predict(grid)


# %%
# One sample with a quarter of it wrong, and the error as that share grows, over five samples
# each.

X, y, wrong = draw(0.25, np.random.default_rng(1))
shares = np.arange(0.0, 0.46, 0.05)
errors = {name: np.empty((shares.size, 5)) for name in losses}
for i, share in enumerate(shares):
    for j in range(5):
        sample = draw(share, np.random.default_rng(100 + j))
        for name, loss in losses.items():
            residual = fit(loss, *sample[:2]) - truth(grid[:, 0])
            errors[name][i, j] = np.sqrt(np.mean(residual**2))

for name, error in errors.items():
    print(
        f"{name:9} {error.mean(axis=1)[0]:.3f} with none wrong, {error.mean(axis=1)[5]:.3f} at 25 %"
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[1.5, 1])
left.plot(grid, truth(grid), color="black", lw=1, ls="--")
left.plot(X[~wrong], y[~wrong], "o", color="0.6", ms=4)
left.plot(X[wrong], y[wrong], "x", color="0.4", ms=5)
for k, (name, loss) in enumerate(losses.items()):
    left.plot(grid, fit(loss, X, y), color=f"C{k}", lw=2)
    right.plot(100 * shares, errors[name].mean(axis=1), "o-", color=f"C{k}", lw=2, ms=4)
    right.text(46, errors[name].mean(axis=1)[-1], name, color=f"C{k}", va="center")
left.text(1.9, 1.55, "squared", color="C0")
left.annotate("truth", (1.3, 0.54), (0.9, -0.3), arrowprops={"arrowstyle": "-", "lw": 0.6})
left.set(xlabel="$x$", ylabel="$y$", xlim=(0, 6))
right.set(xlabel="wrong observations, %", ylabel="root mean square error", ylim=(0, None))
plt.show()
