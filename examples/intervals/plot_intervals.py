r"""
Prediction and confidence intervals
===================================

A least-squares machine is linear in its targets, :math:`f(x) = w(x)'y`, so that one factorization
tells what every machine without one sample would have predicted,

.. math:: f^{(-i)}(x) = f(x) - w_i(x)\, \frac{a_i}{Q_{ii}},

and with that intervals for *observations* that assume no law of the errors. An interval for the
*function* is another question, and much narrower.

The age of abalone by the weight of their shells is a hard case: young snails are all alike, old
ones of one weight differ by many years. Conformal intervals contain nine of ten observations on
average, but are far too wide for light snails; *local* ones follow the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.datasets import load_abalone
from mercer.kernels import Matern
from mercer.smoothing import Spectral

snails = load_abalone()
rows = np.random.default_rng(0).choice(len(snails.target), 250, replace=False)
X = snails.data[rows][:, snails.feature_names.index("shell_weight")].astype(float)[:, None]
y = snails.target[rows]

# %%
# Length scale and C are those that predict left-out samples best.

B, Cs, best = np.ones((len(y), 1)), np.geomspace(1e-3, 1e5, 33), (np.inf, 0.0, 0.0)
for scale in np.geomspace(0.05, 3.0, 15):
    errors = Spectral(Matern(scale, nu=2.5)(X), B).leave_one_out(y, Cs)
    k = int(np.argmin(np.mean(errors**2, axis=1)))
    best = min(best, (float(np.mean(errors[k] ** 2)), scale, Cs[k]))
machine = LSSVR(Matern(best[1], nu=2.5), C=best[2]).fit(X, y)

# %%
# Four answers of one machine.

grid = np.linspace(X.min(), X.max(), 300)[:, None]
panels = [
    ("an observation, conformal", {"method": "conformal"}),
    ("an observation, local", {"method": "local"}),
    ("the function, bayes", {"of": "function", "method": "bayes"}),
    ("the function, wild bootstrap", {"of": "function", "method": "wild", "random_state": 0}),
]
figure, axes = plt.subplots(2, 2, figsize=(9.5, 6.2), sharex=True, sharey=True)
for ax, (title, options) in zip(axes.flat, panels, strict=True):
    low, high = machine.predict_interval(grid, **options).T
    ax.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, lw=0)
    ax.plot(grid[:, 0], machine.predict(grid), color="C0", lw=2)
    ax.plot(X[:, 0], y, "o", color="0.35", ms=3.5, mec="white", mew=0.3)
    if "of" not in options:
        low, high = machine.predict_interval(X, **options).T
        for side, rows in (("light", X[:, 0] < 0.1), ("heavy", X[:, 0] >= 0.1)):
            share = np.mean((low <= y)[rows] & (y <= high)[rows])
            print(f"{title}: {100 * share:.0f} per cent of {side} snails inside")
    ax.set_title(f"90 % for {title}")
figure.suptitle("One factorization, four intervals", x=0.01, ha="left", fontsize="medium")
for ax in axes[1]:
    ax.set_xlabel("weight of the shell (g/200)")
for ax in axes[:, 0]:
    ax.set_ylabel("rings")
plt.show()
