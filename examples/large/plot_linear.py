r"""
Linear kernels: no kernel matrix, and no waiting for C
======================================================

With the linear kernel :math:`K = XX'` the solver works on the seven columns of the table, not on a
matrix of all pairs of rows. Is a snail older than ten years? Two libraries minimize the same
functional on more and more snails, and with more and more weight on errors. The time of pairwise
decomposition grows with C; some fifteen steps of an interior point take what they take. (Where C is
small, pairs are quick, and Mercer takes them too.)
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn import svm
from sklearn.preprocessing import scale

from mercer import SVC
from mercer.datasets import load_abalone

snails = load_abalone()
numbers = [k for k, name in enumerate(snails.feature_names) if name != "sex"]
X = scale(snails.data[:, numbers].astype(float))
y = snails.target > 10


def measured(make, rows, C):
    """Return processor seconds, the better of two fits, and the objective."""
    took = np.inf
    for _ in range(2):
        began = time.process_time()
        machine = make(kernel="linear", C=C).fit(X[:rows], y[:rows])
        took = min(took, time.process_time() - began)
    errors = np.maximum(0.0, 1.0 - np.where(y[:rows], 1, -1) * machine.decision_function(X[:rows]))
    return took, 0.5 * float(np.sum(machine.coef_**2)) + C * errors.sum()


# %%
# Both reach the same objective. The first fit of a session loads compiled code, so the second
# counts.

makes = {"scikit-learn": svm.SVC, "Mercer": SVC}
sizes, weights = [500, 1000, 2000, len(y)], [0.1, 1.0, 10.0, 100.0]
by_rows = {name: [measured(make, n, 1.0) for n in sizes] for name, make in makes.items()}
by_weight = {name: [measured(make, 2000, C) for C in weights] for name, make in makes.items()}
theirs, ours = (np.array(one)[:, 1] for one in by_weight.values())
print(f"objectives differ by {np.max(np.abs(theirs / ours - 1)):.0e} at most")

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, at, found in ((axes[0], sizes, by_rows), (axes[1], weights, by_weight)):
    for name, times in found.items():
        ax.loglog(at, np.array(times)[:, 0], "o-", label=name)
axes[0].set(xlabel="rows, C = 1", ylabel="seconds of one processor", xticks=sizes)
axes[0].set_xticklabels([f"{n:,}" for n in sizes])
axes[0].minorticks_off()
axes[1].set(xlabel="C, 2,000 rows")
axes[0].legend()
plt.show()
