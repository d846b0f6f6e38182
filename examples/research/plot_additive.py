r"""
Leave-one-out errors without refitting
======================================

A machine that follows its sample has small residuals, and large ones where a sample was left out.
Fast fusion with cross-validation asks for the opposite in one linear solve: its folds share their
coefficients, and it minimizes the residuals e of the samples trained on together with how they
differ from the residuals of the samples left out,

.. math:: \min_{a, b} \|e\|^2 + \|e - e^v\|^2,

without any constant to tune. It is one of two modes of
:class:`~mercer_research.fusion.AdditiveRegularization`, which gives every sample a constant of its
own where other machines have one C.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer_research.fusion import AdditiveRegularization

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 60))
y = np.sinc(x) + 0.3 * rng.standard_normal(60)
kernel, K = Gaussian(0.4), Gaussian(0.4)(x[:, None])

fused = AdditiveRegularization(kernel, mode="fast", cv=10).fit(x[:, None], y)
spectral = Spectral(K, np.ones((60, 1)))
grid = np.linspace(-3, 3, 400)[:, None]


def with_one(C):
    """Return function, residuals and left-out residuals of the machine with one C."""
    a, b = spectral.coefficients(y, C)
    left_out = spectral.fold_residuals(y, C, fused.folds_)
    return kernel(grid, x[:, None]) @ a + b[0], spectral.residuals(y, C), left_out


machines = {
    "C = 1000": with_one(1000.0),
    "fused": (fused.predict(grid), fused.mean_residuals_, fused.left_out_residuals_),
}
for name, (f, e, ev) in machines.items():
    print(
        f"{name:10s} residuals {np.std(e):.2f}, left out {np.std(ev):.2f}, "
        f"error against the truth {np.sqrt(np.mean((f - np.sinc(grid[:, 0])) ** 2)):.3f}"
    )

# %%
# On the diagonal, leaving a sample out changes nothing.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[1.4, 1])
left.plot(x, y, "o", color="0.7", ms=4)
left.plot(grid, np.sinc(grid), color="0.3", ls="--", lw=1)
left.text(-1.75, -0.3, "truth", color="0.3", ha="right")
for k, (name, (f, e, ev)) in enumerate(reversed(machines.items())):
    left.plot(grid, f, color=f"C{k}", lw=1.8, label=name)
    right.plot(e, ev, "o", color=f"C{k}", ms=5, mec="white", mew=0.5, label=name)
right.axline((0, 0), slope=1, color="0.6", lw=0.8)
left.legend(frameon=False)
left.set(xlabel="$x$", ylabel="$y$", ylim=(-1.2, 1.8))
right.set(xlabel="residual $e$", ylabel="residual when left out $e^v$", ylim=(-1.6, 1.6))
plt.show()
