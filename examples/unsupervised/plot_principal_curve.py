r"""
Principal curves
================

A curve through the middle of a cloud, fitted by alternating between projecting rows on the curve
and fitting the curve to the projections. An interval gives a curve with two ends. Rows far away
pull it to them under the squared distance; Huber's cost, linear for long distances, keeps it where
the data are. A circle as latent set gives a closed curve.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.manifold import Circle, HuberDistortion, Interval, PrincipalManifold
from mercer.plotting import ManifoldDisplay

rng = np.random.default_rng(0)
t = rng.uniform(-1, 1, 150)
wave = np.c_[t, 0.5 * np.sin(np.pi * t)] + 0.08 * rng.normal(size=(150, 2))
far = np.random.default_rng(1)
dirty = np.vstack([wave, np.c_[far.uniform(-1, 1, 6), far.uniform(1.5, 3, 6)]])
angle = rng.uniform(0, 2 * np.pi, 200)
radius = 1 + 0.3 * np.cos(3 * angle)
clover = np.c_[radius * np.cos(angle), radius * np.sin(angle)] + 0.06 * rng.normal(size=(200, 2))

# Among outliers a start at once ends lower than one that bends slowly.
open_curve = {"lam": 0.01, "width": 2, "tol": 1e-4, "continuation": False}
robust = {**open_curve, "lam": 0.1, "cost": HuberDistortion(0.1)}
fits = {
    "an open curve": (PrincipalManifold(Interval(10), **open_curve), wave),
    "squared cost": (PrincipalManifold(Interval(10), **open_curve), dirty),
    "Huber's cost": (PrincipalManifold(Interval(10), **robust), dirty),
    "a closed curve": (PrincipalManifold(Circle(15), lam=1e-3, tol=1e-4), clover),
}

# %%

figure, axes = plt.subplots(1, 4, figsize=(14, 3.8))
for ax, (title, (curve, rows)) in zip(axes, fits.items(), strict=True):
    ManifoldDisplay.from_estimator(curve.fit(rows), rows, ax=ax)
    ax.set(title=f"{title}, length {curve.length():.1f}", xlabel="", ylabel="")
    print(f"{title}: {curve.n_iter_} iterations, mean cost {curve.distortion_:.4f}")
plt.show()
