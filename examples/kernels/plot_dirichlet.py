r"""
How a kernel without decay overfits
===================================

The Dirichlet kernel of order 10 lets the frequencies 0 to 10 pass, all at the same price, and
nothing above; the Gaussian charges more and more as a frequency rises,
:math:`e^{\sigma^2 \omega^2 / 2}`. Both are valid kernels and both come close to the data. Between
the data, the first machine does what costs it nothing: it oscillates. So what separates a good
kernel from a bad one is not how many functions it knows but what it charges for them.

Left, what a unit of each frequency costs. Middle, both machines on twenty points of a smooth
function (dashed). Right, their errors on thirty such samples: every point is a sample, and above
the diagonal the Dirichlet kernel is worse. After figure 3.4 of A. J. Smola, *Learning with
Kernels*, TU Berlin 1998.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import Empty
from mercer_research.kernels import Dirichlet

kernels = {"Dirichlet": Dirichlet(10), "Gaussian": Gaussian(1.0)}
grid = np.linspace(-np.pi, np.pi, 801)


def draw(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-np.pi, np.pi, 20))
    return x, np.sinc(x) + 0.1 * rng.standard_normal(20)


def fit(kernel, x, y):
    C = 1e3 / kernel.diag(x[:, None]).mean()
    machine = KernelRegressor(kernel=kernel, null_space=Empty(), C=C)
    return machine.fit(x[:, None], y).predict(grid[:, None])


errors = {
    name: [np.sqrt(np.mean((fit(kernel, *draw(s)) - np.sinc(grid)) ** 2)) for s in range(30)]
    for name, kernel in kernels.items()
}
for name, values in errors.items():
    print(f"{name:10} median error {np.median(values):.3f}")

# %%
# A kernel on the circle has coefficients at whole frequencies, others have a spectrum; the price of
# a frequency is the reciprocal of either.

n = np.arange(15)
passed = kernels["Dirichlet"].coefficients(n)
prices = {
    "Dirichlet": np.where(passed > 0, passed[0] / np.where(passed > 0, passed, 1), np.inf),
    "Gaussian": kernels["Gaussian"].spectrum(np.zeros(1)) / kernels["Gaussian"].spectrum(n * 1.0),
}

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4), width_ratios=[1, 1.5, 1])
x, y = draw(0)
middle.plot(grid, np.sinc(grid), color="black", lw=1, ls="--")
for k, (name, price) in enumerate(prices.items()):
    seen = np.isfinite(price) & (price < 1e6)
    left.semilogy(n[seen], price[seen], "o-", color=f"C{k}", lw=2, ms=4)
    middle.plot(grid, fit(kernels[name], x, y), color=f"C{k}", lw=2, label=name)
left.plot([10, 10], [1, 1e6], color="C0", lw=1, ls=":")
left.text(10.3, 3e4, "above 10:\nimpossible", color="C0", va="center")
left.text(4.4, 2e4, "Gaussian", color="C1", ha="right")
left.text(5, 1.5, "Dirichlet", color="C0")
middle.plot(x, y, "o", color="0.3", ms=5, zorder=3)
middle.legend(frameon=False)
low, high = 0.03, 1.2
right.loglog([low, high], [low, high], color="0.7", lw=1)
right.loglog(errors["Gaussian"], errors["Dirichlet"], "o", color="C0", alpha=0.7)
left.set(title="price", xlabel=r"frequency $\omega$", ylim=(0.6, 1e6), xlim=(-0.5, 14.5))
middle.set(title="two machines", xlabel="$x$", ylabel="$y$", ylim=(-0.9, 1.6))
right.set(title="errors", xlabel="Gaussian", ylabel="Dirichlet", xlim=(low, high), ylim=(low, high))
right.set_aspect("equal")
plt.show()
