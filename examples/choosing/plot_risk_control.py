r"""
A cutoff whose risk is promised: loans that are not paid back
==============================================================

A lender grants a loan where a score is below a cutoff. A high cutoff refuses few applicants, and
grants loans that are not paid back; at most half of the bad ones may get through. The share among
the rows at hand says where that is, but new applicants may be worse.
:func:`mercer.risk_bounds.risk_controlled_threshold` walks from the safest cutoff on, and stops
before the first whose upper confidence bound exceeds the target: with probability 95 % the share
among new applicants is below it, and nothing is paid for the number of cutoffs that were tried.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import SVC
from mercer.datasets import load_german_credit
from mercer.preprocessing import TableEncoder
from mercer.risk_bounds import error_bound, risk_controlled_threshold

credit = load_german_credit(as_frame=True)
bad = (credit.target == "bad").to_numpy()
X, X_rest, y, y_rest = train_test_split(
    credit.data, bad, train_size=400, stratify=bad, random_state=0
)
X_held, X_new, y_held, y_new = train_test_split(
    X_rest, y_rest, train_size=300, stratify=y_rest, random_state=0
)
machine = make_pipeline(TableEncoder(), SVC(standardize=True)).fit(X, y)

# %%
# The loss of a bad loan under a cutoff: it was granted. Only bad loans of held-out rows count.

cutoffs = np.linspace(-1.5, 1.0, 101)
scores = machine.decision_function(X_held)[y_held]
granted = scores[:, None] < cutoffs
chosen = risk_controlled_threshold(granted, cutoffs, target=0.5)
print(chosen)

# %%
# The share that was seen crosses the target later than its bound does; in between lie cutoffs that
# look as if they kept the promise. Applicants of whom nothing was known keep it.

bounds = [error_bound(int(column.sum()), len(scores)).value for column in granted.T]
new = machine.decision_function(X_new)[y_new]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
axes[0].plot(cutoffs, granted.mean(axis=0), color="C0", label=f"seen in {len(scores)} bad loans")
axes[0].plot(cutoffs, bounds, color="C0", ls="--", label="upper bound, 95 %")
axes[0].axhline(0.5, color="0.5", lw=1, label="allowed")
axes[0].axvline(chosen.value, color="k", lw=1, label=f"cutoff {chosen.value:.2f}")
axes[0].plot(
    chosen.value,
    np.mean(new < chosen.value),
    "o",
    color="k",
    label=f"{len(new)} bad loans not used before",
)
axes[0].set(xlabel="cutoff", ylabel="share of bad loans granted", ylim=(0, 1))
axes[0].legend(fontsize="small")
good = machine.decision_function(X_new)[~y_new]
shown = {"bins": np.linspace(-2, 2, 33), "density": True, "alpha": 0.6}
axes[1].hist(good, color="C0", label="paid back", **shown)
axes[1].hist(new, color="C1", label="not paid back", **shown)
axes[1].axvline(chosen.value, color="k", lw=1)
share = np.mean(good < chosen.value)
axes[1].set(xlabel="score", yticks=[], title=f"{share:.0%} of the good loans are granted")
axes[1].legend(fontsize="small")
plt.show()
