r"""
Bias and variance along the regularization path
===============================================

A least-squares machine shrinks the data towards what its kernel likes. With the truth :math:`g` and
noise of variance :math:`\sigma^2`, both sides of the bargain are known for every weight C from one
eigendecomposition :math:`K = U \operatorname{diag}(\sigma_j) U'`, with :math:`p = U'g`,
:math:`u = 1/C`:

.. math:: \text{bias}^2 = \sum_j \Bigl(\frac{u p_j}{\sigma_j + u}\Bigr)^2, \qquad
          \text{variance} = \sigma^2 \sum_j \Bigl(\frac{\sigma_j}{\sigma_j + u}\Bigr)^2.

The truth is not known to users, but the error of samples left out is, from the same
eigendecomposition; its minimum is flat, and on average not far.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer_research.diagnostics import bias_variance

rng = np.random.default_rng(4)
n, noise = 100, 0.1
x = np.sort(rng.uniform(-3, 3, n))
g = np.sinc(x)
y = g + noise * rng.standard_normal(n)

spectral = Spectral(Gaussian(0.7)(x[:, None]))
C = np.geomspace(1e-3, 1e5, 300)
errors = bias_variance(spectral, g, noise**2, C)
left_out = np.mean(spectral.leave_one_out(y, C) ** 2, axis=1)

best, found = C[np.argmin(errors.total)], C[np.argmin(left_out)]
print(f"best C {best:.1f}; leaving one out finds {found:.1f}")

# %%
# Left, the two costs and their sum, per sample. The dotted line is the error of samples left out,
# from which the variance of their noise is taken. Right, three machines of the path.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.loglog(C, errors.squared_bias / n, label="squared bias")
left.loglog(C, errors.variance / n, label="variance")
left.loglog(C, errors.total / n, color="0.2", lw=2.5, label="their sum")
left.loglog(C, left_out - noise**2, ":", color="C3", label="left out, less noise")
left.axvline(best, color="0.7", lw=1, zorder=0)
left.set(xlabel="weight $C$", ylabel="mean squared error", ylim=(1e-5, 0.3))
left.legend(frameon=False)
right.plot(x, y, "o", color="0.7", ms=3)
right.plot(x, g, color="0.2", lw=1, ls="--", label="truth")
for weight, name in ((0.05, "too little"), (best, "best"), (1e5, "too much")):
    right.plot(x, spectral.fitted(y, weight), label=f"$C$ = {weight:.3g}, {name}")
right.set(xlabel="$x$")
right.legend(frameon=False)
plt.show()
