r"""
Margins in other norms: distance of a point from a line
=======================================================

The widest margin depends on how distances are measured. With weights of length
:math:`\|w\|_p = 1` a point is :math:`|w'x + b|` away from the line in the norm with
:math:`1/p + 1/q = 1`: for :math:`p = 1` by its largest coordinate, for :math:`p = \infty` by the
sum of both. Twice the margin is the distance of the convex hulls of the classes, which is the proof
that comes with every fit.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.linear import LpMarginSVC, dual_norm

rng = np.random.default_rng(10)
y = np.repeat([-1, 1], 12)
X = 0.9 * rng.normal(size=(24, 2)) + np.outer(y, [1.7, 1.7])

models = {p: LpMarginSVC(p, C=np.inf).fit(X, y) for p in (1.0, 2.0, np.inf)}
for p, model in models.items():
    (proof,) = model.certificates_
    print(f"p = {p:g}: margin {model.margins_[0]:.4f}, hulls apart by {proof.distance:.4f}")

# %%
# Around the samples that touch their margin, the balls of the norm in which it is measured.

angle = np.linspace(0, 2 * np.pi, 400)
circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
span = np.array([-6.0, 6.0])
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharex=True, sharey=True)
for ax, (p, model) in zip(axes, models.items(), strict=True):
    q, (w, b), rho = dual_norm(p), (model.coef_[0], model.intercept_[0]), model.margins_[0]
    ball = rho * circle / np.linalg.norm(circle, q, axis=1)[:, None]
    for level, style in ((0, "-"), (-1, ":"), (1, ":")):
        if abs(w[1]) > 1e-9:
            ax.plot(span, (level - b - w[0] * span) / w[1], f"k{style}", lw=1)
        else:
            ax.axvline((level - b) / w[0], color="k", ls=style, lw=1)
    for label, color in ((-1, "C1"), (1, "C0")):
        ax.plot(*X[y == label].T, "o", color=color, ms=4)
    touching = np.flatnonzero(np.abs(y * model.decision_function(X) - 1) < 1e-6)
    for i in touching:
        ax.plot(*(X[i] + ball).T, color="C2", lw=1)
    title = {1.0: "largest coordinate", 2.0: "Euclidean", np.inf: "sum of coordinates"}[p]
    ax.spines[:].set_visible(True)
    ax.set(title=f"{title}: {rho:.2f}", xlim=(-4, 4), ylim=(-4, 4), aspect="equal")
plt.show()
