r"""
Regression with autocorrelated noise
====================================

Criteria that choose a smoothing parameter believe that errors are independent. If every error
remembers the one before,

.. math:: z_t = \varphi z_{t-1} + e_t,

they take the memory for a signal and follow it. A machine that knows about the memory whitens the
errors first, :math:`W(y - f)` with :math:`W \operatorname{cov}(z) W' = 1`, and lets any loss act on
what is left: here the squared loss, whose likelihood also finds :math:`\varphi`, and then the
absolute loss with the same memory, because some observations are blunders.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor, SmoothingSpline
from mercer.estimators import estimate_errors
from mercer.kernels import ThinPlate
from mercer.regularizers import AutoRegressive

rng = np.random.default_rng(4)
n, phi = 200, 0.8
t = np.arange(n, dtype=float)[:, None]
truth = 3 * np.sin(t[:, 0] / 25)
noise = np.zeros(n)
for k, e in enumerate(rng.normal(size=n)):
    noise[k] = phi * noise[k - 1] * (k > 0) + e
y = truth + noise

# %%
# ``errors`` is a value like a kernel or a loss. ``estimate_errors`` returns the machine with the
# memory and the penalty of the greatest restricted likelihood.

naive = SmoothingSpline(lam="gcv").fit(t, y)
aware = estimate_errors(SmoothingSpline(errors=AutoRegressive(0.3)), t, y)
print(f"memory {aware.errors.phi:.2f}, the truth is {phi}")

blunders = y + 15.0 * (rng.uniform(size=n) < 0.03)
fooled = SmoothingSpline(lam=aware.lam, errors=aware.errors).fit(t, blunders)
robust = KernelRegressor(
    "absolute", ThinPlate(2), errors=aware.errors, C=1.0 / aware.lam, tol=1e-4
).fit(t, blunders)


def off(machine):
    return np.sqrt(np.mean((machine.predict(t) - truth) ** 2))


# %%

figure, axes = plt.subplots(2, 1, figsize=(9, 6.5), sharex=True, sharey=True)
panels = (
    (axes[0], y, {"errors believed independent": naive, "errors with a memory": aware}),
    (axes[1], blunders, {"memory, squared loss": fooled, "memory, absolute loss": robust}),
)
for ax, observed, machines in panels:
    ax.plot(t, observed, "o", color="0.75", ms=3)
    ax.plot(t, truth, color="black", lw=0.8, ls="--")
    for k, (name, machine) in enumerate(machines.items()):
        ax.plot(
            t, machine.predict(t), color=f"C{k}", lw=2, label=f"{name}: off by {off(machine):.2f}"
        )
    ax.legend(frameon=False, loc="lower left", fontsize="small")
    ax.set_ylabel("$y$")
axes[1].set(xlabel="time", ylim=(-7, 9))
plt.show()

# %%
# What the machine calls innovations should have no memory left: their autocorrelations, beside
# those of the raw errors, and the band in which those of white noise lie.

lags = np.arange(1, 16)


def autocorrelation(r):
    return [r[k:] @ r[:-k] / (r @ r) for k in lags]


figure, ax = plt.subplots(figsize=(9, 2.8))
ax.axhspan(-2 / np.sqrt(n), 2 / np.sqrt(n), color="0.9")
ax.plot(lags - 0.1, autocorrelation(y - aware.predict(t)), "o", color="C1", label="errors")
ax.plot(lags + 0.1, autocorrelation(aware.innovations_), "o", color="C0", label="innovations")
ax.set(xlabel="lag", title="autocorrelation")
ax.legend(frameon=False)
plt.show()
