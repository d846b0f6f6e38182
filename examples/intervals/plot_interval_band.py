r"""
Quantile curves that do not cross
=================================

Quantiles fitted one by one may cross, which no quantiles can. In one problem,

.. math:: \min \sum_k \tfrac12 \|f_k\|^2 + C \sum_{k,i} \rho_{\tau_k}(y_i - f_k(x_i)),
          \qquad f_k \le f_{k+1},

they do not: a difference of two of them at a point is one more sample, with a wall for a loss.
Where there is no conflict nothing changes, and a duality gap says how good the answer is.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import QuantileBand, QuantileSVR
from mercer.kernels import Gaussian

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 10, 120))
y = np.sin(x) + (0.1 + 0.05 * x) * rng.standard_normal(120)
levels = (0.1, 0.3, 0.5, 0.7, 0.9)
settings = {"kernel": Gaussian(0.4), "C": 10.0}
band = QuantileBand(levels, points=np.linspace(0, 10, 200)[:, None], **settings).fit(x[:, None], y)
print(f"one by one they cross by up to {band.crossing_:.2f}")
print(
    f"{band.n_constraints_} differences took part, relative gap {band.solution_.relative_gap:.1e}"
)

# %%
# Dotted, each quantile alone; lines, all of them together.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
grid = np.linspace(0, 10, 500)[:, None]
alone = np.column_stack(
    [QuantileSVR(quantile=t, **settings).fit(x[:, None], y).predict(grid) for t in levels]
)
for axis, Q, title in zip(
    axes, (alone, band.predict_quantiles(grid)), ("one by one", "together"), strict=True
):
    axis.plot(x, y, ".", color="0.7")
    axis.plot(grid, Q)
    crossed = np.any(np.diff(Q, axis=1) < -1e-6, axis=1)
    axis.fill_between(
        grid[:, 0],
        0,
        1,
        where=crossed,
        transform=axis.get_xaxis_transform(),
        color="C3",
        alpha=0.12,
        lw=0,
    )
    axis.set(title=f"{title}: out of order on {np.mean(crossed):.0%}", xlabel="x")
