r"""
What a fitted machine keeps of its targets
==========================================

A fitted machine is a filter too. The squared loss is linear in the data, so its response to a wave
of any frequency is known: slow waves pass, fast ones are removed, and the weight C of the loss and
the width of the kernel decide where in between; a small weight shrinks all of them. Above, data
with a slow and a fast wave and noise, and three fits. Below, what each machine does to every
frequency; points are the share of the data itself that is left in the fit.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer_research.diagnostics import machine_report
from mercer_research.plotting import MachineFilterDisplay

rng = np.random.default_rng(0)
x = np.linspace(0, 20, 240)
y = np.sin(x) + 0.5 * np.sin(6 * x) + 0.3 * rng.standard_normal(x.size)
X = x[:, None]
settings = {"wide": (1.2, 1.0), "narrow": (0.25, 1.0), "narrow, small weight": (0.25, 0.01)}

figure, axes = plt.subplots(2, 3, figsize=(12, 6), sharex="row", sharey="row")
for i, (name, (width, C)) in enumerate(settings.items()):
    machine = KernelRegressor(kernel=Gaussian(width), C=C).fit(X, y)
    fit, response = axes[:, i]
    fit.plot(x, y, ".", color="0.7", ms=3)
    fit.plot(x, machine.predict(X), color=f"C{i}", lw=2)
    fit.set(title=f"{name}: width {width}, C = {C}", xlabel="$x$")
    MachineFilterDisplay.from_estimator(machine, X, y, ax=response, color=f"C{i}", ms=4)
    for wave in (1, 6):
        response.axvline(wave, color="0.8", lw=0.8, zorder=0)
    response.set(xlim=(0, 15), ylabel="kept" if i == 0 else "")
plt.show()

# %%
# The trace of the smoother counts the parameters that the last machine really has.

print(machine_report(machine, X, y))
