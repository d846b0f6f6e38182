r"""
Sixty settings in three passes over the data
============================================

A low-rank approximation of a machine is fitted by passes over the rows. With the squared loss one
pass sums all that any C needs, and machines with other kernels read each block of rows together. So
a grid of four widths and fifteen weights of the loss takes three passes: one to draw centres, one
to sum, one to examine all settings on rows that none of them has seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR, Nystrom
from mercer.selection import StreamedSearch

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (3000, 3))
noise = 0.7
y = np.sin(3 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + noise * rng.standard_normal(len(X))

grid = {"gamma": [0.03, 0.3, 1.0, 5.0], "C": np.geomspace(1e-3, 1e4, 15)}
search = StreamedSearch(
    LSSVR(approximation=Nystrom(400)),
    grid,
    scoring="neg_mean_squared_error",
    refit=False,
).fit(X, y)
print(f"{len(search.cv_results_['params'])} settings in {search.n_passes_} passes")

# %%
# The error of the rows held out, for every width, against C.

error = np.sqrt(-search.cv_results_["mean_test_score"]).reshape(len(grid["C"]), len(grid["gamma"]))
figure, axes = plt.subplots(figsize=(7, 4.2))
for j, gamma in enumerate(grid["gamma"]):
    axes.semilogx(grid["C"], error[:, j], "o-", ms=3, label=rf"$\gamma={gamma:g}$")
axes.axhline(noise, color="0.6", lw=0.8, ls="--", zorder=0)
axes.text(grid["C"][0], noise, "noise", color="0.5", va="bottom")
best = search.best_params_
axes.plot(best["C"], np.sqrt(-search.best_score_), "o", ms=11, mfc="none", mec="black")
axes.set(xlabel="$C$", ylabel="error of rows held out")
axes.legend(frameon=False)
plt.show()
