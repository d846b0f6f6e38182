r"""
Survival times when most patients are still alive
=================================================

At the end of a study many patients are alive: of their times is known that they are longer. A
machine on logarithms of times fits what is known, and the distribution of what is left over, moved
along by the function, is a survival curve for each patient,

.. math:: P(T > t \mid x) = S(\log t - f(x)),

with Kaplan and Meier's estimator S of the residuals.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import CensoredRegressor
from mercer.inspect import concordance, d_calibration
from mercer.plotting import SurvivalCalibrationDisplay, SurvivalDisplay


def patients(n, seed):
    """Draw ages, doses, times, and whether the end was seen; the best dose falls with age."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(30, 80, n), rng.uniform(0, 2, n)])
    age, dose = X.T
    life = np.exp(1.5 - (dose - (110 - age) / 50) ** 2 - 0.02 * (age - 55))
    life *= rng.weibull(2.0, n)
    left = rng.uniform(0.5, 6.0, n)
    return X, np.column_stack([np.minimum(life, left), np.where(life <= left, life, np.inf)])


X, y = patients(300, 0)
X_new, y_new = patients(1000, 1)
print(f"{np.mean(np.isinf(y[:, 1])):.0%} censored")
machine = CensoredRegressor(log=True, standardize=True, gamma=0.5, C=3.0, cv=5).fit(X, y)

# %%
# Residuals come from folds, ``cv=5``: those of the sample itself are smaller than those of new
# patients. Order and curves of new patients:

times = np.linspace(0.1, 5.5, 100)
order = concordance(y_new, machine.predict(X_new))
found = d_calibration(y_new, machine.predict_survival_function(X_new, times), times)
print(f"concordance {order:.3f}")
print("shares in tenths of the predicted curves:", found.shares.round(2))

# %%
# Left, three patients of 70 who got different doses. Right, in groups of like predictions, how many
# of the new ones lived longer than two years.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
doses = [0.1, 0.8, 1.7]
SurvivalDisplay.from_estimator(
    machine, [[70.0, dose] for dose in doses], names=[f"dose {d}" for d in doses], y=y, ax=left
)
left.legend(frameon=False)
left.set(xlabel="years")
SurvivalCalibrationDisplay.from_estimator(machine, X_new, y_new, time=2.0, bins=8, ax=right)
plt.show()
