r"""
Estimate a kernel from a series
===============================

White noise that was smoothed by a kernel :math:`\Omega`, observed with more noise, has the
covariance :math:`C = \Omega\Omega' + \sigma^2 I`. So the kernel is the square root of what the
sample covariances of a series leave above the noise,

.. math:: \Omega = (C - \sigma^2 I)_+^{1/2},

and nobody has to guess it. ``realize`` does this with tapered covariances, gives a band by
repeating it on simulated series, and names the closest of the common kernels; the value at lag
zero, where noise leaves a spurious peak, does not count there. The covariance of the smooth part is
the kernel convolved with itself, so the machine on the right has nothing left to choose. After
example 9.6 of K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.regularizers import Empty
from mercer_research.kernels import self_convolution
from mercer_research.series import realize

n, spacing = 1000, 0.1
t = spacing * np.arange(n)
rng = np.random.default_rng(3)
smooth = np.exp(-((t[:, None] - t) ** 2)) @ rng.standard_normal(n)
y = smooth + rng.standard_normal(n)

found = realize(
    y,
    1.0,
    spacing=spacing,
    max_lag=100,
    center=False,
    method="fft",
    n_bootstrap=100,
    random_state=0,
)
print("closest:", found.suggestion)

# %%
# A machine with the covariance of the smooth part as kernel and the reciprocal of the variance of
# the noise as weight is the best linear estimate. Sums over samples are integrals over the spacing.
# One series is one sample: six of this length gave widths from 0.59 to 0.79, of which this is one
# of the closer ones.

width = found.suggestion.kernel.length_scale
print(f"width {width:.2f}, used to make the data {np.sqrt(0.5):.2f}")
covariance = found.gamma**2 / spacing * self_convolution(found.suggestion)
machine = KernelRegressor(kernel=covariance, null_space=Empty(), C=1.0).fit(t[:, None], y)

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=[1, 1.6])
lags = found.lags
scale = found.gamma
left.fill_between(lags, *(scale * found.band), color="C0", alpha=0.2, lw=0, label="90 % band")
left.plot(lags, scale * found.values, "o-", color="C0", ms=3, lw=1, label="read")
left.plot(
    lags,
    scale * found.suggestion(np.zeros((1, 1)), lags[:, None])[0],
    color="C1",
    lw=2,
    label="closest common kernel",
)
left.plot(lags, np.exp(-(lags**2)), color="black", lw=1, ls="--", label="truth")
left.legend(frameon=False)
left.set(title="the kernel", xlabel="lag", ylabel=r"$\gamma\, k$", xlim=(0, 4))
right.plot(t, y, "o", color="0.75", ms=3)
right.plot(t, smooth, color="black", lw=1, ls="--", label="without noise")
right.plot(t, machine.predict(t[:, None]), color="C1", lw=2, label="machine")
right.legend(frameon=False, ncols=2)
right.set(title="the series", xlabel="time", xlim=(0, 20), ylim=(-6, 6))
plt.show()
