r"""
All functions that a sample does not contradict
===============================================

The covariances :math:`X'y` of inputs and output are known only up to the noise. Coefficients w are
plausible if :math:`X'Xw` lies between quantiles of their law, and these w form a polytope: a
parallelogram for two inputs. The paths of the lasso and of ridge regression enter it on their way
from zero to least squares, in its middle. The sparsest plausible model is the point of the set with
the least :math:`\|w\|_1`; here it finds that the second input has nothing to say.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.linear import FusedRidge, lasso_homotopy, plausible_set
from mercer_research.plotting import PathDisplay

rng = np.random.default_rng(3)
X = rng.standard_normal((60, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
y = X @ [1.5, 0.0] + rng.standard_normal(60)

S = plausible_set(X, y, alpha_s=0.05)
lasso = lasso_homotopy(X, y)
ridge = FusedRidge(fit_intercept=False).fit(X, y).validation_path_
sparsest = S.sparsest()

# %%
# The corners of the set are where two of its bounds meet.
a, b = S.lower, S.upper
corners = np.linalg.solve(S.G, np.array([[a[0], b[0], b[0], a[0]], [a[1], a[1], b[1], b[1]]]))

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0))
left.fill(*corners, color="0.9", label="plausible at 5 %")
left.plot(*lasso.coefs.T, label="lasso")
left.plot(*ridge.coefs.T, label="ridge")
left.plot(*lasso.coefs[-1], "o", color="0.2", label="least squares")
left.plot(*sparsest, "s", color="C3", label="sparsest plausible")
left.axhline(0.0, color="0.8", lw=0.8, zorder=0)
left.set(xlabel="$w_1$", ylabel="$w_2$", title="paths through the set")
left.legend(frameon=False, fontsize="small", loc="upper left")

# The evolution diagram: coefficients of the lasso against the bound on their sum.
PathDisplay.from_path(lasso, ax=right, against="norm", names=["$w_1$", "$w_2$"], lw=2)
right.set(title="evolution diagram", xlabel=r"$\tau = \|w\|_1$")
plt.show()
