r"""
One length scale for each feature (ARD)
=======================================

A Gaussian kernel may have a length scale for each feature,

.. math:: k(x, z) = s \exp\Bigl(-\tfrac12 \sum_j \frac{(x_j - z_j)^2}{\ell_j^2}\Bigr).

A long scale means that the function hardly changes along a feature, so :math:`1 / \ell_j`
measures its relevance. With the squared loss the machine is also the mean of a Gaussian process,
and the scales can be learned by maximizing the probability of the data,

.. math:: \log p(y) = -\tfrac12\, y' A^{-1} y - \tfrac12 \log \det A + \text{const},
          \qquad A = K + I / C,

which needs the derivatives of the kernel matrix that every kernel provides. The target depends on
the first five of ten features, the rest are noise. Left, what was learned. Right, what it is
worth on new data, against a kernel with one scale learned in the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1

from mercer import KernelRegressor
from mercer.kernels import Gaussian

X, y = make_friedman1(1150, n_features=10, noise=1.0, random_state=0)
y = (y - y.mean()) / y.std()
X, X_test, y, y_test = X[:150], X[150:], y[:150], y[150:]


def learn(size):
    """Return the machine of the most probable scale factor, length scales and noise."""

    def unpack(theta):
        values = np.exp(theta)
        scale = values[1:-1] if size > 1 else float(values[1])
        return float(values[0]) * Gaussian(scale), values[-1]

    def evidence(theta):
        kernel, noise = unpack(theta)
        factor = cho_factor(kernel(X) + noise * np.eye(len(y)), lower=True)
        a = cho_solve(factor, y)
        value = 0.5 * y @ a + np.sum(np.log(np.diag(factor[0])))
        weights = 0.5 * (cho_solve(factor, np.eye(len(y))) - np.outer(a, a))
        slopes = kernel.gradient(X)
        by_scale = (
            np.tensordot(weights, slopes["kernel__length_scale"]) * kernel.kernel.length_scale
        )
        by_factor = np.sum(weights * slopes["factor"]) * kernel.factor
        return value, np.hstack([by_factor, by_scale, np.trace(weights) * noise])

    best = minimize(evidence, np.zeros(size + 2), jac=True, bounds=[(-5, 5)] * (size + 2))
    kernel, noise = unpack(best.x)
    return KernelRegressor("squared", kernel, C=1 / noise).fit(X, y)


single, relevant = learn(1), learn(10)
scales = relevant.kernel.kernel.length_scale
print("length scales", np.round(scales, 1))

# %%
# Long scales are cut off at :math:`e^5`, where the feature is ignored.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[1.2, 1])
features = np.arange(1, 11)
colors = np.where(features <= 5, "C0", "0.6")
left.vlines(features, 0, 1 / scales, color=colors, lw=3)
left.scatter(features, 1 / scales, s=50, c=colors, zorder=3)
left.text(3.4, 0.55, "in the formula", color="C0")
left.text(8, 0.1, "noise", color="0.4", ha="center")
left.set(xlabel="feature", ylabel=r"relevance $1 / \ell_j$", xticks=features, ylim=(0, None))
for k, (machine, name) in enumerate([(single, "one scale"), (relevant, "ten scales")]):
    f = machine.predict(X_test)
    right.plot(f, y_test, "o", color=f"C{1 - k}", ms=2.5, alpha=0.6, mew=0)
    score = machine.score(X_test, y_test)
    right.text(-2.4, 2.3 - 0.35 * k, f"{name}: $R^2 = {score:.2f}$", color=f"C{1 - k}")
right.plot([-2.5, 2.5], [-2.5, 2.5], color="black", lw=0.8)
right.set(xlabel="predicted", ylabel="observed", aspect="equal")
plt.show()
