r"""
Kriging: a map, and how far to trust it
=======================================

A field is a trend, of which only the shape is known, and a random part, of which only the
covariance is known,

.. math:: z(x) = b' p(x) + u(x), \qquad \operatorname{cov}(u(x), u(x')) = k(x, x').

The best prediction that is linear in the observations is a kernel machine with the squared loss,
whose null space is the trend. Universal kriging is that machine together with the standard
deviation of its error. Here heights were measured at 600 places around Jacksboro, Tennessee, where
a fault cuts the land: hills in the west, a plain in the south-east.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import UniversalKriging
from mercer.datasets import load_elevation
from mercer.kernels import Matern
from mercer.regularizers import Polynomial

# Kilometres east and north of the south-western corner, and the height in metres.
places, height = load_elevation(return_X_y=True)
km = (places - places.min(axis=0)) * [89.3, 111.0]
rows = np.random.default_rng(0).choice(len(km), 600, replace=False)

# %%
# Length scale, variance and nugget are those of the greatest restricted likelihood; the trend is a
# plane.

machine = UniversalKriging(Matern(3.0, nu=1.5), trend=Polynomial(1), nugget=0.1, optimize=True).fit(
    km[rows], height[rows]
)
print(machine.kernel_, f"and a nugget of {machine.nugget_:.3g}")
deviations = np.sqrt(np.diag(machine.null_space_cov_))
for name, b, s in zip(machine.null_space_names_, machine.null_space_coef_, deviations, strict=True):
    print(f"{name:12} {b:8.1f} +- {s:.1f}")

# %%
# All other heights are known here, so the map can be judged: how large its errors are, and whether
# they are as large as it says. They are a little larger: hills are rougher than the plain, and one
# covariance serves both.

mean, std = machine.predict(km, return_std=True)
others = np.setdiff1d(np.arange(len(km)), rows)
error = (height - mean)[others]
size, foretold = np.sqrt(np.mean(error**2)), np.sqrt(np.mean(std[others] ** 2))
print(f"root mean square error {size:.0f} m, foretold {foretold:.0f} m")
print(f"within two standard deviations: {np.mean(np.abs(error) < 2 * std[others]):.1%}")

# %%
# Heights, the map from 600 of them, and its standard deviation: small near the places that were
# measured (dots), large between them.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
for ax, values, title, colours in (
    (axes[0], height, "heights (m)", "terrain"),
    (axes[1], mean, "map from 600 places (m)", "terrain"),
    (axes[2], std, "standard deviation (m)", "magma"),
):
    limits = (height.min(), height.max()) if colours == "terrain" else (0, std.max())
    picture = ax.imshow(
        values.reshape(86, 101),
        extent=(0, km[:, 0].max(), 0, km[:, 1].max()),
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
    )
    ax.set(title=title, xlabel="km east")
    figure.colorbar(picture, ax=ax, shrink=0.75)
axes[0].set_ylabel("km north")
axes[2].plot(*km[rows].T, "o", ms=2, mfc="none", mec="white", mew=0.6)
plt.show()
