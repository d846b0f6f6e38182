r"""
A table with categories and gaps, as it is
==========================================

Ten columns describe 442 patients; how far will their diabetes have gone after a year?
:class:`~mercer.AutoRegressor` takes the table as it is, fits kernel machines with a length scale
for every column, and weighs them by their predictions of rows left out,

.. math:: f(x) = \sum_m w_m f_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

Left, how much each column moves the kernels: the logarithm of triglycerides (s5) and the body mass
index most. Middle, the mean prediction as the body mass index changes and all else stays, and the
mean of the bands that 80 per cent of new patients fall into, from the errors of patients left out.
Right, :class:`~mercer.AutoClassifier` for the question whether the disease goes further than
in the median patient: among those who were given 70 per cent while they were left out, did it in
70 per cent?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes

from mercer import AutoClassifier, AutoRegressor

table, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
members = ["laplacian-ranks", "gaussian"]  # of six, to be quick
machine = AutoRegressor(members=members).fit(table, target)
print(machine.explain())

# %%
# The band is the mean of the quantiles of all patients, each with the body mass index replaced.

effect = machine.effect(table, "bmi", points=15)
band = np.array(
    [
        machine.predict_quantiles(table.assign(bmi=value), [0.1, 0.9]).mean(axis=0)
        for value in effect.values
    ]
)

# %%
# Left-out probabilities need no test set.

further = target > target.median()
classifier = AutoClassifier(members=members).fit(table, further)
given = classifier.left_out_probabilities_[:, 1]
print(f"{classifier.left_out_score_:.0%} of patients left out are classified correctly")

# %%

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.9))
names, shares = zip(*reversed(machine.explain().columns), strict=True)
left.barh(names, shares, color="C0")
left.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
left.set(title="relevance of columns", xlabel="share")

middle.plot(table["bmi"], target, ".", color="0.75", ms=4, zorder=0)
middle.fill_between(effect.values, *band.T, color="C1", alpha=0.25, lw=0)
middle.plot(effect.values, effect.mean, color="C1", lw=2)
middle.set(title="effect of the body mass index", xlabel="bmi", ylabel="progression")

seen, mean = calibration_curve(further, given, n_bins=8, strategy="quantile")
right.plot([0, 1], [0, 1], color="black", lw=0.8)
right.plot(mean, seen, "o-", color="C2", lw=2)
right.hist(given, bins=20, weights=np.full(len(given), 1 / len(given)), color="C2", alpha=0.25)
right.set(title="patients left out", xlabel="probability given", ylabel="frequency seen")
right.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
plt.show()
