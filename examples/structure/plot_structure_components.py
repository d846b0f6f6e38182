"""
Additive components that a person can read
==========================================

A sum of functions of one feature each says what every feature does. Here a price depends on an age
in a curve, on a size in a line, on a site as a category, and on nothing else; the machine is told
none of this. Weights of the components come from the evidence of the sample, bands are two standard
errors, ticks below are the sample, and all effects share one axis.
"""

import numpy as np
import pandas as pd

from mercer import AdditiveRegressor
from mercer.plotting import ComponentDisplay

rng = np.random.default_rng(0)
n = 200
frame = pd.DataFrame(
    {
        "age": rng.uniform(0, 60, n),
        "size": rng.uniform(20, 120, n),
        "site": rng.integers(0, 4, n),
        "noise": rng.normal(size=n),
    }
)
site = np.array([0.0, 1.5, -1.0, 0.5])[frame["site"]]
price = 2 * np.cos(frame["age"] / 12) + 0.03 * frame["size"] + site + 0.5 * rng.normal(size=n)

machine = AdditiveRegressor(categorical=["site"], tune="weights", C="auto").fit(frame, price)
display = ComponentDisplay.from_estimator(machine, frame)
display.figure_.suptitle("What every feature does")

# %%
# Effective degrees of freedom tell how much of each component there is: the feature that is noise
# has almost none.

for name, freedom in zip(machine.component_names_, machine.component_freedom_, strict=True):
    print(f"{name:6} {freedom:5.2f}")
