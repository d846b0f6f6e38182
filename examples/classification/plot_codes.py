r"""
Several classes by error-correcting output codes
================================================

A machine of two classes answers many classes if it is asked several questions: a column of a code
book sets some classes against others, and the class whose row fits the answers best is chosen.
Rows that differ in many places survive wrong answers. Questions about all classes share one
factorization of the kernel matrix, so that a long error-correcting code costs little more
than ten; errors of samples left out come from the same matrix.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import LSSVC

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order] / 16.0, y[order]
train, test = slice(0, 500), slice(500, None)

kinds = ["one-vs-rest", "one-vs-one", "minimal", "ecoc", "dense-random", "sparse-random"]
machines, seconds = {}, {}
for codes in kinds:
    start = time.perf_counter()
    machines[codes] = LSSVC(C=10.0, codes=codes, random_state=0).fit(X[train], y[train])
    seconds[codes] = time.perf_counter() - start

for codes, machine in machines.items():
    print(
        f"{codes:14} {machine.code_book_.shape[1]:3} columns, {seconds[codes]:5.2f} s, left out "
        f"{machine.loo_error_:.3f}, test {1 - machine.score(X[test], y[test]):.3f}"
    )

# %%
# The books themselves, and the errors. Four bits, the least there can be, leave no room for a
# wrong answer.

figure = plt.figure(figsize=(11, 6.5))
grid = figure.add_gridspec(2, 1, height_ratios=[1.2, 1])
books = grid[0].subgridspec(1, 6, width_ratios=[1, 1.6, 0.6, 1.2, 1.6, 1.8])
for k, codes in enumerate(kinds):
    axes = figure.add_subplot(books[k])
    axes.imshow(
        machines[codes].code_book_,
        cmap="RdBu",
        aspect="auto",
        interpolation="nearest",
        vmin=-1.4,
        vmax=1.4,
    )
    axes.set_title(codes, fontsize=9)
    axes.set(xticks=[], yticks=range(10) if k == 0 else [])
axes = figure.add_subplot(grid[1])
place = np.arange(len(kinds))
axes.bar(place - 0.2, [machines[c].loo_error_ for c in kinds], 0.38, label="left out, 500 samples")
error = [1 - machines[c].score(X[test], y[test]) for c in kinds]
axes.bar(place + 0.2, error, 0.38, label="test, 1297 samples")
axes.set_xticks(place, kinds)
axes.set_ylabel("error")
axes.legend(frameon=False)
plt.show()
