"""
Feature selection: which inputs matter
======================================

Twelve inputs, of which three act. A penalty on the largest value of every component makes those
vanish that are not needed; cross-validation of machines that are fitted again without the penalty
says how large it should be. The upper panel is the evolution diagram: the variation of each
component against the weight of the penalty.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import AdditiveRegressor
from mercer.estimators import SparseAdditiveRegressor
from mercer.kernels import Gaussian
from mercer.plotting import EvolutionDisplay


def truth(X):
    return 10 * np.sin(X[:, 0]) + 20 * (X[:, 1] - 0.5) ** 2 + 10 * X[:, 2]


rng = np.random.default_rng(0)
X, new = rng.uniform(size=(80, 12)), rng.uniform(size=(500, 12))
y = truth(X) + rng.normal(size=80)

machine = SparseAdditiveRegressor(kernel=Gaussian(1.0), n_mus=7, smallest=0.03, cv=2).fit(X, y)
display = EvolutionDisplay.from_estimator(machine)
display.axes_[0].set_title(f"kept: {', '.join(machine.selected_names_)}")
plt.show()

# %%
# Few inputs predict better than all of them.

whole = AdditiveRegressor(kernel=Gaussian(1.0), C="auto").fit(X, y)
for name, fit in (("those that were found", machine), ("all twelve inputs", whole)):
    print(f"{name:22} {np.mean((fit.predict(new) - truth(new)) ** 2):.3f}")
