r"""
Three solvers, one answer
=========================

The functional does not say how it is minimized. Three methods here fit Huber's loss, and their
answers carry the same certificate, so they can be compared fairly: at a relative duality gap of
:math:`10^{-8}` or less.

*Decomposition* (SMO) changes two coefficients at a time and needs two rows of the kernel matrix for
that. *Newton's method* solves a few linear systems over the samples where the loss is curved. The
*interior point* solves ten to twenty systems over all samples, whatever the loss. So the number
of samples speaks for the first, at the left; but a large :math:`C`, at the right, asks for
coefficients of very different size, and pairs take long to find them, while the linear systems do
not notice. ``solver="auto"`` picks one by the loss, the number of samples and their weights, and
``solution_.reason`` says why.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from mercer.estimators import HuberSVR
from mercer.kernels import Gaussian
from mercer.solvers import SMO, InteriorPoint, Newton

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (960, 2))
y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.2 * rng.standard_t(3, len(X))
solvers = {
    "SMO": SMO(tol=1e-4),
    "Newton": Newton(tol=1e-4),
    "interior point": InteriorPoint(tol=1e-4),
}


def measure(solver, n, C):
    """Return the seconds of the faster of two fits, and the gap."""
    machine = HuberSVR(delta=0.2, C=C, kernel=Gaussian(0.5), solver=solver)
    start = perf_counter()
    machine.fit(X[:n], y[:n])
    between = perf_counter()
    gap = machine.fit(X[:n], y[:n]).solution_.relative_gap
    return min(between - start, perf_counter() - between), gap


for solver in solvers.values():
    measure(solver, 20, 1.0)  # compiled code is loaded here, not in the measurement

# %%
# The same problem for more samples, and for larger weights.

sizes, weights = [60, 120, 240, 480, 960], [1, 10, 100, 1000, 3000]
by_size = {name: [measure(s, n, 10.0) for n in sizes] for name, s in solvers.items()}
by_weight = {name: [measure(s, 240, float(C)) for C in weights] for name, s in solvers.items()}
largest = max(gap for runs in (by_size, by_weight) for run in runs.values() for _, gap in run)
print(f"largest relative gap {largest:.0e}")

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
for ax, runs, values in [(axes[0], by_size, sizes), (axes[1], by_weight, weights)]:
    for k, run in enumerate(runs.values()):
        seconds = [time for time, _ in run]
        ax.loglog(values, seconds, "o-", color=f"C{k}", lw=2, ms=5)
for k, name in enumerate(solvers):
    axes[0].text(0.05, 0.93 - 0.07 * k, name, color=f"C{k}", transform=axes[0].transAxes)
axes[0].set(xlabel="samples, at $C = 10$", ylabel="seconds")
axes[0].set_xticks(sizes, [str(n) for n in sizes])
axes[0].minorticks_off()
axes[1].set(xlabel="weight $C$, at 240 samples")
plt.show()
