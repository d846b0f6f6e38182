r"""
Show a colleague what a machine has learned
===========================================

Two displays draw any fitted machine, of this library or another. ``FitDisplay`` draws it with its
sample along one or two features: a curve with its tube, interval or quantiles, a surface, or the
regions of classes with their margin. ``EffectDisplay`` draws what each feature does to the
prediction, largest effects first.

The first figure: support vector regression, where errors inside the tube cost nothing and only the
ringed samples hold the curve; quantiles, which say more where noise is skewed; regions of classes
with the margin (dashed); and a surface.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, SVR, QuantileBand
from mercer.datasets import load_abalone, load_concrete, load_elevation
from mercer.plotting import EffectDisplay, FitDisplay
from mercer.selection import LSSVRCV

figure, axes = plt.subplots(2, 2, figsize=(10, 8.4), layout="constrained")
figure.get_layout_engine().set(h_pad=0.12)
rng = np.random.default_rng(0)
snails = load_abalone(as_frame=True).frame.sample(300, random_state=0)
X, y = snails[["shell_weight"]], snails["rings"]
FitDisplay.from_estimator(SVR(C=10.0, epsilon=4.0).fit(X, y), X, y, ax=axes[0, 0])
axes[0, 0].set_title("a tube and its support vectors")
band = QuantileBand((0.05, 0.25, 0.5, 0.75, 0.95), C=10.0).fit(X, y)
FitDisplay.from_estimator(band, X, y, ax=axes[0, 1])
axes[0, 1].set_title("five quantiles")

moons, labels = make_moons(200, noise=0.25, random_state=0)
FitDisplay.from_estimator(SVC().fit(moons, labels), moons, labels, ax=axes[1, 0])
axes[1, 0].set_title("two classes and their margin")
places, heights = load_elevation(return_X_y=True)
rows = rng.choice(len(heights), 400, replace=False)
machine = LSSVRCV().fit(places[rows], heights[rows])
FitDisplay.from_estimator(machine, places[rows], heights[rows], ax=axes[1, 1], colour="terrain")
axes[1, 1].set(title="heights (m)", xlabel="longitude", ylabel="latitude")
axes[1, 1].locator_params(axis="x", nbins=4)

# %%
# Eight features: what each of them does to the strength of concrete, on one scale. Bands hold four
# fifths of the mixtures: where one is wide, other ingredients have a say. That old concrete is
# weaker is a claim of few samples; :class:`mercer.ShapeConstrainedRegressor` can be told that it is
# not so.

mixtures = load_concrete(as_frame=True)
machine = LSSVRCV().fit(mixtures.data, mixtures.target)
EffectDisplay.from_estimator(machine, mixtures.data, target="strength (MPa)")
plt.show()
