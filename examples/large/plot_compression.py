r"""
Compress a machine to a twentieth of its terms
==============================================

Least-squares machines keep every sample: a prediction takes as many kernel values as there were
rows. Yet the function they found is usually simple, and few terms say the same,

.. math:: f_m(x) = \sum_{j \le m} b_j\, k(z_j, x), \qquad
          |f(x) - f_m(x)| \le \sqrt{k(x, x)}\, \|f - f_m\|.

:func:`~mercer.compression.compress` finds them, and its certificate tells the distance exactly.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVR
from mercer.compression import compress

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (1500, 2))
y = np.sin(X[:, 0] * X[:, 1]) + 0.3 * rng.standard_normal(len(X))
X_new = rng.uniform(-3, 3, (20_000, 2))

machine = LSSVR(C=3.0, gamma=0.5).fit(X, y)

# %%
# Values at new points may change by a twentieth of the noise. The machine that comes back is an
# ordinary one of the same class.

small = compress(machine, X_new, error=0.015)
print(small.compression_)

# %%
# Prediction is as much faster as there are fewer terms, up to what every row costs in any case.


def seconds(m):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        m.predict(X_new)
        times.append(time.perf_counter() - start)
    return min(times)


before, after = seconds(machine), seconds(small)
print(f"{len(X_new)} predictions: {1e3 * before:.0f} ms before, {1e3 * after:.0f} ms after")

# %%
# A pursuit takes the term that helps most and fits all weights anew; points that may move do better
# still.

counts = [10, 20, 40, 80, 160]
curves = {"pursuit": compress(machine, n_centres=160).compression_.history[counts]}
moved = compress(machine, n_centres=40, method="preimage", polish=40).compression_.distance
curves["new points"] = [moved]

# %%
# Left, the distance against the number of terms. Right, where the pursuit put its terms: where the
# function turns.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4))
for name, values in curves.items():
    at = [40] if name == "new points" else counts
    relative = np.asarray(values) / small.compression_.norm
    (line,) = left.loglog(at, relative, "o-", ms=4)
    left.text(
        1.1 * at[-1], 0.9 * relative[-1], name, color=line.get_color(), va="center", fontsize=9
    )
left.set(xlabel="terms", ylabel=r"$\|f - f_m\| \, / \, \|f\|$", title="Distance", xlim=(9, 2500))

grid = np.linspace(-3, 3, 120)
mesh = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
image = small.predict(mesh).reshape(120, 120)
right.contourf(grid, grid, image, levels=12, cmap="RdBu_r", alpha=0.8)
right.plot(*small.support_vectors_.T, "k.", ms=3)
right.set(
    aspect="equal",
    xlabel="$x_1$",
    ylabel="$x_2$",
    title=f"{len(small.support_)} of {len(machine.support_)} terms",
)
plt.show()
