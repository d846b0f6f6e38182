r"""
Four norms for four kinds of noise
==================================

Four norms fit a line to the same kind of sample,

.. math:: \min_w \sum_i |r_i|, \qquad \sum_i h_c(r_i), \qquad \sum_i r_i^2, \qquad \max_i |r_i|,

and each of them is the maximum likelihood for one law of the errors: :math:`L_1` for Laplace noise,
least squares for normal noise, Huber's loss if a few errors are large, and the largest error if all
errors are bounded. There the fit by :math:`L_\infty` is several times as good as any other, and
with outliers it is useless. Huber's loss gives up five per cent of efficiency under normal noise,
too little to be seen in forty samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.linear import NormRegression

rng = np.random.default_rng(0)
n, p, runs = 100, 5, 40
noises = {
    "Laplace": lambda: rng.laplace(0.0, 1.5, n),
    "normal": lambda: rng.standard_normal(n),
    "5 % outliers": lambda: rng.standard_normal(n) * np.where(rng.random(n) < 0.05, 3.2, 1.0),
    "uniform": lambda: rng.uniform(-1.5, 1.5, n),
}
norms = {"absolute": "$L_1$", "huber": "Huber", "squared": "$L_2$", "maximum": r"$L_\infty$"}

errors = {name: np.zeros((runs, 4)) for name in noises}
for name, noise in noises.items():
    for k in range(runs):
        X, w = rng.uniform(-1, 1, (n, p)), rng.uniform(-5, 5, p)
        y = X @ w + noise()
        for j, norm in enumerate(norms):
            model = NormRegression(norm, fit_intercept=False).fit(X, y)
            errors[name][k, j] = np.mean((model.coef_ - w) ** 2)

# %%
# The norm with the least mean error is filled.
figure, axes = plt.subplots(1, 4, figsize=(9.5, 3.4), sharey=True)
for ax, (name, E) in zip(axes, errors.items(), strict=True):
    boxes = ax.boxplot(E, showfliers=False, patch_artist=True, medianprops={"color": "0.2"})
    best = int(np.argmin(E.mean(axis=0)))
    for j, box in enumerate(boxes["boxes"]):
        box.set(facecolor="#0072B2" if j == best else "white", alpha=0.8)
    ax.set(title=name, yscale="log", xticks=range(1, 5), xticklabels=norms.values())
axes[0].set(ylabel="squared error of a coefficient")
plt.show()
