r"""
Which landmarks to choose for a Nystrom approximation
=====================================================

A machine with m centres looks for :math:`f = \sum_{j \le m} \alpha_j k(z_j, \cdot)`. What it cannot
reach is what the centres leave of the kernel, and the trace

.. math:: \operatorname{tr}(K - K_{XZ} K_{ZZ}^{-1} K_{ZX})

adds it up over the rows. No choice can leave less than the eigenvalues of K beyond the first m.
Here most of the rows lie in one heap and the others on a wide ring. Rows drawn at random go to the
heap, where a few would do; the informed choices notice.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.data import as_source, draw
from mercer.kernels import Gaussian
from mercer.reduced.centres import choose

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 200)
ring = 4.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(200, 2))
X = np.concatenate([0.6 * rng.normal(size=(1300, 2)), ring])
kernel = Gaussian(0.7)
pool = draw(as_source(X), 1500)

# %%
# A choice takes a sample of the rows, and the same rows are sampled wherever they lie.

kinds = ["uniform", "leverage", "rpcholesky", "kmeans", "pivoted"]
chosen = {kind: choose(kind, kernel, pool, 40).Z for kind in kinds}


def left(Z):
    """Return what centres leave of the trace of the kernel matrix, as a share of it."""
    values, vectors = np.linalg.eigh(kernel(Z))
    keep = values > 1e-12 * values[-1]
    features = kernel(X, Z) @ (vectors[:, keep] / np.sqrt(values[keep]))
    return 1.0 - np.sum(features**2) / len(X)


for kind, Z in chosen.items():
    print(f"{kind:<12} leaves {left(Z):.4f}")

# %%
# Left, forty centres of three kinds. Right, what the kinds leave as centres are added, and the
# limit. Always taking the row of which most is left, ``pivoted``, goes after outliers first;
# drawing rows in proportion to what is left, ``rpcholesky``, does not, and costs no more.

figure, axes = plt.subplot_mosaic(
    [
        ["uniform", "curves", "curves"],
        ["rpcholesky", "curves", "curves"],
        ["kmeans"] + 2 * ["curves"],
    ],
    figsize=(9, 7.2),
)
color = {kind: f"C{k}" for k, kind in enumerate(kinds)}
for kind in ("uniform", "rpcholesky", "kmeans"):
    ax = axes[kind]
    ax.plot(*X.T, ".", color="0.8", ms=2)
    ax.plot(*chosen[kind].T, "o", color=color[kind], ms=5, mec="white", mew=0.5)
    ax.set(title=kind, aspect="equal", xticks=[], yticks=[])
sizes = [10, 20, 40, 80, 160]
ax = axes["curves"]
for kind in kinds:
    curve = [left(choose(kind, kernel, pool, m).Z) for m in sizes]
    ax.loglog(sizes, curve, "o-", color=color[kind], ms=4, label=kind)
tail = np.cumsum(np.linalg.eigvalsh(kernel(X)))[::-1] / len(X)
ax.loglog(sizes, tail[sizes], "--", color="0.4", label="limit")
ax.set(xlabel="centres $m$", title="share of the trace that is left", xticks=sizes)
ax.set_xticklabels(sizes)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()
