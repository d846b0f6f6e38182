r"""
A parametric trend beside the kernel
====================================

The function is a wave and a bump, :math:`\sin x + \operatorname{sinc} 2(x - 5)`. A machine that is
told of the wave has :math:`\sin x` and :math:`\cos x` in its null space, where they cost nothing,
and has only the bump left to learn. One that is told the wrong wave, :math:`\sin 2x` and
:math:`\cos 2x`, loses almost nothing: what is not needed gets a coefficient near zero.

Left, the three machines on one sample with the same weight C. Middle, their mean error over twenty
samples for every weight: naming the right functions helps at each of them. Right, the norm of the
kernel part: it has less to do. After Table 3.1 and figures 3.8 to 3.10 of A. J. Smola, *Learning
with Kernels*, TU Berlin 1998. There, and on the page of
:doc:`reproductions </explanation/reproductions>`, the weight is chosen by cross-validation on a
hundred samples, with the same result.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.regularizers import Constant, Functions


def wave(frequency):
    return Functions([lambda X: np.sin(frequency * X[:, 0]), lambda X: np.cos(frequency * X[:, 0])])


spaces = {
    "nothing": Constant(),
    "the wave": Constant() + wave(1),
    "a wrong wave": Constant() + wave(2),
}
grid = np.linspace(0, 10, 501)
weights = 2.0 ** np.arange(-7, 7)


def truth(x):
    return np.sin(x) + np.sinc(2 * (x - 5))


def draw(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 50)
    return x[:, None], truth(x) + rng.uniform(-0.2, 0.2, 50)


def machine(space, C):
    loss = EpsilonInsensitive(0.05)
    return KernelRegressor(loss, Gaussian(0.25), null_space=space, C=C, warm_start=True)


# %%
# A machine that is fitted again with another weight starts from its last coefficients.

samples = [draw(seed) for seed in range(20)]
error, norm = ({name: np.zeros(len(weights)) for name in spaces} for _ in range(2))
for name, space in spaces.items():
    for X, y in samples:
        fitted = machine(space, weights[0])
        for k, C in enumerate(weights):
            fitted.set_params(C=C).fit(X, y)
            error[name][k] += np.mean(np.abs(fitted.predict(grid[:, None]) - truth(grid))) / 20
            a = fitted.dual_coef_[0]
            norm[name][k] += np.sqrt(a @ Gaussian(0.25)(fitted.support_vectors_) @ a) / 20
for name in spaces:
    print(f"told {name:13} mean error at the best weight {error[name].min():.3f}")

# %%

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4.2), width_ratios=[1.5, 1, 1])
X, y = samples[3]
left.plot(grid, truth(grid), color="black", lw=1, ls="--", label="truth")
for k, (name, space) in enumerate(spaces.items()):
    fitted = machine(space, 0.25).fit(X, y)
    left.plot(grid, fitted.predict(grid[:, None]), color=f"C{k}", lw=2, label=f"told {name}")
    style = {"color": f"C{k}", "lw": 2, "ms": 4, "ls": "--" if k == 2 else "-", "marker": "o"}
    middle.semilogx(weights, error[name], base=2, **style)
    right.semilogx(weights, norm[name], base=2, **style)
left.plot(X, y, "o", color="0.5", ms=4, zorder=3)
left.legend(frameon=False, fontsize="small", loc="lower left", ncols=2)
left.set(title="one sample, $C = 1/4$", xlabel="$x$", ylabel="$y$", ylim=(-2.1, 1.5))
middle.set(title="mean absolute error", xlabel="weight $C$", ylim=(0, None))
right.set(title="norm of the kernel part", xlabel="weight $C$", ylim=(0, None))
plt.show()
