r"""
Class probabilities: logistic regression against Platt scaling
==============================================================

The hinge loss looks at the margin only, so the decision values of a support vector machine are
not probabilities; a sigmoid has to be fitted to them afterwards, on data held out for that. The
logistic loss estimates the log-odds directly,

.. math:: \min_f\; \tfrac12 \|f\|^2 + C \sum_i \log\bigl(1 + e^{-y_i f(x_i)}\bigr), \qquad
          P(y = 1 \mid x) = \frac{1}{1 + e^{-f(x)}}.

The two classes here are mixtures of Gaussians, so the true probabilities are known (left) and can
be compared with the estimate from 400 points (middle). Right, the test of any probability: among
the cases that were given 70 per cent, do 70 per cent happen? Squashing the decision values of an
``SVC`` without calibration fails it.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.metrics import log_loss

from mercer import SVC, KernelLogisticRegression
from mercer.kernels import Gaussian

centers = np.array([[[-1.2, 0.2], [1.1, 1.1]], [[0.2, -0.7], [2.0, -0.2]]])  # class, component, x


def posterior(X):
    density = [sum(multivariate_normal(c, 0.7).pdf(X) for c in group) for group in centers]
    return density[1] / (density[0] + density[1])


def draw(n, rng):
    y = rng.integers(0, 2, n)
    return centers[y, rng.integers(0, 2, n)] + np.sqrt(0.7) * rng.standard_normal((n, 2)), y


rng = np.random.default_rng(0)
X, y = draw(400, rng)
X_test, y_test = draw(20000, rng)

# %%
# Three ways to a number between zero and one.

kernel = Gaussian(1.5)
logistic = KernelLogisticRegression(kernel, C=2.0).fit(X, y)
margin = SVC(kernel=kernel, C=2.0).fit(X, y)
calibrated = CalibratedClassifierCV(SVC(kernel=kernel, C=2.0), ensemble=False).fit(X, y)
answers = {
    "logistic": logistic.predict_proba(X_test)[:, 1],
    "SVC, calibrated": calibrated.predict_proba(X_test)[:, 1],
    "SVC, squashed": expit(margin.decision_function(X_test)),
}
print(f"{'the truth':16} log loss {log_loss(y_test, posterior(X_test)):.4f}")
for name, p in answers.items():
    print(f"{name:16} log loss {log_loss(y_test, p):.4f}")

# %%
# The maps share their colours; the line is where both classes are equally likely.

u, v = np.meshgrid(np.linspace(-3, 4, 180), np.linspace(-2.6, 3, 160))
points = np.column_stack([u.ravel(), v.ravel()])
colors = LinearSegmentedColormap.from_list("odds", ["#0072B2", "#f7f7f7", "#D55E00"])
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.9))
for ax, title, p in [
    (left, "the truth", posterior(points)),
    (middle, "logistic machine", logistic.predict_proba(points)[:, 1]),
]:
    shades = ax.contourf(u, v, p.reshape(u.shape), levels=np.linspace(0, 1, 11), cmap=colors)
    ax.contour(u, v, p.reshape(u.shape), levels=[0.5], colors="black", linewidths=1.5)
    ax.set(title=title, xticks=[], yticks=[], xlim=(-3, 4), ylim=(-2.6, 3))
    ax.spines[:].set_visible(False)
middle.scatter(*X.T, s=8, c=np.where(y == 1, "C1", "C0"), ec="black", lw=0.3)
figure.colorbar(shades, ax=middle, ticks=[0, 0.5, 1], label="P(orange)", shrink=0.8)

right.plot([0, 1], [0, 1], color="black", lw=0.8)
for k, (name, p) in enumerate(answers.items()):
    happened, given = calibration_curve(y_test, p, n_bins=12, strategy="quantile")
    right.plot(given, happened, "o-", color=f"C{k + 2}", lw=2, ms=4)
    right.text(0, 0.96 - 0.08 * k, name, color=f"C{k + 2}")
right.set(xlabel="probability given", ylabel="frequency seen", aspect="equal")
plt.show()
