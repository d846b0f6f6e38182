r"""
A symmetric function from half of the data
==========================================

If a function is known to be even, say so in the kernel. Averaging over the mirror image,

.. math:: k_2(x, z) = \tfrac14 \bigl(k(x, z) + k(x, -z) + k(-x, z) + k(-x, -z)\bigr),

gives a kernel all of whose functions are even, at every point and not only at the data. Above, the
data lie on the right, and the machine with the symmetric kernel is as good on the left. Below, the
same kernels in the plane: eight images of every point under the turns and mirrors of a square,
with ``Invariant``. After figure 9.1 of K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRegressor
from mercer.kernels import Gaussian, Invariant, Symmetrized


def truth(x):
    return np.cos(2 * x) * np.exp(-(x**2) / 8)


rng = np.random.default_rng(1)
x = np.concatenate([rng.uniform(0, 3, 40), rng.uniform(-3, 0, 3)])
y = truth(x) + 0.15 * rng.standard_normal(x.size)
grid = np.linspace(-3, 3, 400)
machines = {
    "plain": KernelRegressor(kernel=Gaussian(0.5), C=10),
    "even": KernelRegressor(kernel=Symmetrized(Gaussian(0.5)), C=10),
}

# %%
# The group of the square has eight elements: four turns, each with and without a mirror.

quarter, mirror = np.array([[0, -1], [1, 0]]), np.diag([-1, 1])
turns = [np.linalg.matrix_power(quarter, k) for k in range(4)]
square = [turn @ flip for turn in turns for flip in (np.eye(2), mirror)]


def field(X):
    return np.cos(3 * X[:, 0]) + np.cos(3 * X[:, 1]) - 0.5 * (X**2).sum(axis=1)


# Only an eighth of the square is seen.
points = rng.uniform(0, 1.5, (60, 2))
points = np.sort(points, axis=1)
values = field(points) + 0.1 * rng.standard_normal(len(points))
mesh = np.linspace(-1.5, 1.5, 121)
plane = np.stack(np.meshgrid(mesh, mesh), axis=-1).reshape(-1, 2)
maps = {"truth": field(plane)}
for name, kernel in {
    "plain kernel": Gaussian(0.6),
    "kernel of the square": Invariant(Gaussian(0.6), square),
}.items():
    maps[name] = KernelRegressor(kernel=kernel, C=30).fit(points, values).predict(plane)

# %%

figure, axes = plt.subplot_mosaic(
    [["line"] * 3, list(maps)], figsize=(10, 7.2), height_ratios=[1, 1.15]
)
axes["line"].plot(grid, truth(grid), color="black", lw=1, ls="--", label="truth")
for k, (name, machine) in enumerate(machines.items()):
    f = machine.fit(x[:, None], y).predict(grid[:, None])
    axes["line"].plot(grid, f, color=f"C{k}", lw=2, label=f"{name} kernel")
    side = grid < 0
    error = np.sqrt(np.mean((f - truth(grid))[side] ** 2))
    print(f"{name:6} kernel, error on the left {error:.3f}")
axes["line"].plot(x, y, "o", color="0.5", ms=4, zorder=3)
axes["line"].axvline(0, color="0.8", lw=1, zorder=0)
axes["line"].legend(frameon=False, ncols=3, loc="lower center")
axes["line"].set(title="even functions", xlabel="$x$", ylabel="$y$", xlim=(-3, 3), ylim=(-1.5, 1.3))
for name, image in maps.items():
    ax = axes[name]
    picture = ax.pcolormesh(mesh, mesh, image.reshape(121, 121), vmin=-3.5, vmax=2, cmap="viridis")
    if name != "truth":
        ax.plot(*points.T, "o", mfc="none", mec="white", ms=3, mew=0.7)
    ax.set(title=name, aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
figure.colorbar(picture, ax=[axes[name] for name in maps], shrink=0.8)
plt.show()
