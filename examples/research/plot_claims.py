r"""
What can I claim? Bounds on the error, and an audit that refuses
================================================================

Sixteen votes tell the party of a member of congress. On rows that were held out the machine errs
now and then; how often will it on new ones? The report computes every bound that the machine
admits. A green bar may be quoted; a grey one says no more than always naming the larger party.

On the right are the eigenvalues of the kernel matrix: how rich the class of machines is. They
compare kernels, and are no errors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import SVC
from mercer.datasets import load_house_votes
from mercer_research.plotting import CapacityDisplay

votes, party = load_house_votes(return_X_y=True)
votes = np.nan_to_num(votes)
X, X_new, y, y_new = train_test_split(votes, party, test_size=0.3, random_state=0)
machine = SVC(gamma=0.01, C=1000.0).fit(X, y)
display = CapacityDisplay.from_estimator(machine, X, y, X_new, y_new)
print(display.report)
plt.show()

# %%
# The same split, but the five most telling votes were chosen by all rows before it. The error on
# held-out rows looks as good, and means nothing: the report says why, and no number is drawn.

best = SelectKBest(k=5).fit(votes, party)
model = make_pipeline(best, SVC(gamma=0.05).fit(best.transform(X), y))
CapacityDisplay.from_estimator(model, X, y, X_new, y_new)
plt.show()
