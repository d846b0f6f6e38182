r"""
Missing inputs at their worst
=============================

Ripley's two classes, three inputs of noise, and cells that go missing. The worst-case machine

.. math:: \min_{f, b}\; \tfrac12 \sum_p \|f_p\|^2 + C \sum_i \max\Bigl(0,\, 1 - y_i
          \bigl(b + \sum_{p \text{ there}} f_p(x_i)\bigr) + \sum_{p \text{ missing}} t_p\Bigr),
          \qquad t_p = \max_i |f_p(x_i)|

charges a row for the largest values of the components that it lacks. Its error hardly moves until a
third of the cells are gone; then every component costs more than it explains, and a constant is
left. The expected loss does not break down.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer.estimators import MissingInputClassifier
from mercer_research.estimators import WorstCase

sys.path.append(str(Path.cwd().parents[1] / "packages" / "mercer-research"))

from papers.pelckmans_2005.missing_inputs import remove, ripley
from papers.places import results_of

results = results_of("missing_inputs")
data = json.loads(results.read_text(encoding="utf-8"))["result"]["data"]

# %%
# A machine of 150 rows that lack a twentieth of their cells. For new rows that lack one of the two
# true inputs it says what that input could still change: rows whose interval holds zero are
# undecided.

rng = np.random.default_rng(3)
X, y = ripley(150, rng)
machine = MissingInputClassifier(strategy=WorstCase(), C=10.0, tol=1e-4, abstain=0)
machine.fit(remove(X, 0.05, rng), y)
new, classes = ripley(40, rng)
new[np.arange(40), rng.integers(0, 2, 40)] = np.nan
low, high = machine.decision_interval(new)
labels = machine.predict(new)
print(f"largest values of the components: {machine.component_size_.round(2)}")
decided = labels != 0
right_ones = np.mean(labels[decided] == classes[decided])
print(f"{np.sum(~decided)} of 40 rows undecided, {right_ones:.0%} of the others right")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for name in ("worst case", "expected", "complete rows, LDA", "median, RBF-SVC"):
    left.plot(100 * np.array(data["shares"]), 100 * np.array(data[name], float), "o-", label=name)
left.set(xlabel="missing cells, percent", ylabel="test error, percent", ylim=(5, 55))
left.legend(frameon=False, fontsize=9)
left.set_title("Complete test rows, means of runs")
order = np.argsort(low + high)
for k, i in enumerate(order):
    color = "0.6" if labels[i] == 0 else ("C2" if labels[i] == classes[i] else "C1")
    right.plot([low[i], high[i]], [k, k], color=color, lw=3)
right.axvline(0.0, color="0.3", lw=0.8)
right.set(xlabel="decision value", yticks=[], ylabel="rows that lack an input")
right.set_title("Right, wrong and undecided (grey)")
plt.show()
