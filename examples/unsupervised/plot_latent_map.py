r"""
A map of handwritten digits
===========================

A principal manifold with two latent coordinates is a sheet of rubber through the middle of the
data. Every row gets the coordinates of its nearest point of the sheet, new rows as well as old
ones, and every point of the map leads back to a picture. Labels were not used: they only colour
the points. On the left principal component analysis, the flat sheet, beside it the bent one; in
the background its *magnification*, dark where neighbours on the map are far apart in the data. On
the right pictures from all over the map.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from mercer.manifold import Grid, PrincipalManifold
from mercer.plotting import LatentMapDisplay, PreimageDisplay

X, y = load_digits(return_X_y=True)
X = X / 16
rows, new = X[:800], X[800:1000]

plane = PCA(2).fit(rows)
sheet = PrincipalManifold(Grid(10, 10), lam=1e-3, tol=1e-2).fit(rows)
for chart, known in [(plane, plane.transform(rows)), (sheet, sheet.embedding_)]:
    nearest = KNeighborsClassifier(1).fit(known, y[:800])
    right = nearest.score(chart.transform(new), y[800:1000])
    name = type(chart).__name__
    print(f"{name}: the nearest neighbour of {right:.0%} of new pictures is the same digit")

# %%

figure, axes = plt.subplots(1, 3, figsize=(13, 4.6), width_ratios=[1, 1.1, 1])
LatentMapDisplay.from_estimator(plane, rows, y[:800], ax=axes[0], legend=False)
LatentMapDisplay.from_estimator(sheet, y=y[:800], magnification=True, ax=axes[1])
steps = np.linspace(-0.95, 0.95, 10)
atlas = {
    f"{height:+.2f}": sheet.inverse_transform(np.c_[steps, np.full(10, height)])
    for height in steps[::-1]
}
PreimageDisplay(pictures=atlas, image_shape=(8, 8)).plot(axes[2])
for ax, title in zip(axes, ("PCA", "principal manifold", "back to pictures"), strict=True):
    ax.set_title(title)
plt.show()
