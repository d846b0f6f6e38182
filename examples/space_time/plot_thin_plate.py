r"""
Thin-plate splines over scattered points
========================================

A sheet of metal that is pushed through some points settles where its bending energy is least,

.. math:: \int f_{xx}^2 + 2 f_{xy}^2 + f_{yy}^2 .

That energy is a norm with a null space, the planes, and its kernel :math:`r^2 \log r` is only
conditionally positive definite. Nothing of this has to be known: ``SVR(kernel=ThinPlate())`` leaves
planes free by itself, and the kernel has no width to choose. Far from the data the plate is nearly
a plane, where a Gaussian falls back to a constant.

Terrain is measured at 200 places inside the dashed square; a few measurements are blunders
(crosses), which the loss of SVR shrugs off and the squared loss follows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from mercer import SVR
from mercer.estimators import ThinPlateSpline
from mercer.kernels import Gaussian, ThinPlate

rng = np.random.default_rng(0)


def terrain(X):
    x, y = X.T
    hill = 1.2 * np.exp(-((x - 0.35) ** 2 + (y - 0.65) ** 2) / 0.03)
    dip = 0.8 * np.exp(-((x - 0.7) ** 2 + (y - 0.3) ** 2) / 0.02)
    return x + 0.5 * y + hill - dip


X = rng.uniform(0, 1, (200, 2))
z = terrain(X) + 0.05 * rng.standard_normal(200)
wrong = rng.permutation(200) < 12
z[wrong] += rng.choice([-2.0, 2.0], wrong.sum())

mesh = np.linspace(-0.3, 1.3, 121)
plane = np.stack(np.meshgrid(mesh, mesh), axis=-1).reshape(-1, 2)
inside = np.all((plane >= 0) & (plane <= 1), axis=1)

# %%
# Three machines: the loss of SVR on a plate, the same with a Gaussian, and the classical thin-plate
# spline with its penalty by generalized cross-validation. Weights, and the width that only the
# Gaussian has, are chosen by cross-validation.

weights = {"C": 10.0 ** np.arange(5)}
widths = {"kernel__length_scale": [0.1, 0.2, 0.3, 0.5]}
best = {"cv": 5, "scoring": "neg_median_absolute_error"}
machines = {
    "thin plate, SVR": GridSearchCV(SVR(kernel=ThinPlate(2), epsilon=0.05), weights, **best),
    "Gaussian, SVR": GridSearchCV(
        SVR(kernel=Gaussian(0.2), epsilon=0.05), weights | widths, **best
    ),
    "thin plate, squared loss": ThinPlateSpline(lam="gcv"),
}
maps = {"truth": terrain(plane)}
for name, machine in machines.items():
    maps[name] = machine.fit(X, z).predict(plane)
    error = maps[name] - maps["truth"]
    print(
        f"{name:25} mean error {np.mean(np.abs(error[inside])):.3f} among the data, "
        f"{np.mean(np.abs(error[~inside])):.3f} around them"
    )
plate = machines["thin plate, SVR"].best_estimator_
print(plate.null_space_names_, plate.null_space_coef_.round(2))

# %%

figure, axes = plt.subplots(1, 4, figsize=(13, 3.9), sharex=True, sharey=True)
for ax, (name, values) in zip(axes, maps.items(), strict=True):
    picture = ax.pcolormesh(mesh, mesh, values.reshape(121, 121), vmin=-0.5, vmax=2, cmap="viridis")
    ax.contour(
        mesh, mesh, values.reshape(121, 121), np.arange(-1, 3, 0.25), colors="white", linewidths=0.5
    )
    ax.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color="white", lw=1, ls="--")
    ax.set(title=name, aspect="equal", xticks=[0, 1], yticks=[0, 1])
axes[0].plot(*X[~wrong].T, "o", mfc="none", mec="white", ms=2.5, mew=0.5)
axes[0].plot(*X[wrong].T, "x", color="#D55E00", ms=5)
figure.colorbar(picture, ax=axes, shrink=0.8, label="height")
plt.show()
