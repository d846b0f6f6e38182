r"""
Quantiles of rows that are never held in memory
===============================================

To divide a feature by the distance of its quartiles one would sort it, and rows in files cannot be
sorted. A sketch keeps a few thousand values with weights instead: where there are too many, they
are sorted, every other one is dropped, and the rest counts twice. Each such step moves ranks by no
more than the weight, and the sketch adds this up. So it knows how wrong it can be at most,

.. math:: \text{error} \le \frac{n}{k} \log_2 \frac{n}{k}

for n values and k kept on a level, and two values between which the quantile certainly lies. A
second pass looks only between these, and finds the quantile itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.data import Sketch, as_source, quantiles

rng = np.random.default_rng(0)
x = rng.lognormal(sigma=2.0, size=1_000_000)
levels = np.linspace(0.02, 0.98, 49)

# %%
# Blocks of ten thousand values, merged one after the other. Of the sketch, the ranks of 49
# quantiles are compared with those they should have.


def errors(size):
    """Return numbers of values, the largest error of a rank, and what the sketch promised."""
    sketch, seen, found, promised = None, [], [], []
    for start in range(0, len(x), 10_000):
        part = Sketch.of(x[start : start + 10_000], size)
        sketch = part if sketch is None else sketch + part
        if sketch.n in (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000):
            values = np.sort(x[: sketch.n])
            asked = [np.searchsorted(values, sketch.quantile(q)) for q in levels]
            found.append(np.max(np.abs(asked - levels * (sketch.n - 1))) / sketch.n)
            promised.append(sketch.error / sketch.n)
            seen.append(sketch.n)
    return seen, found, promised


# %%
# Two passes give the quartiles exactly, whatever the order of the rows.

exact = quantiles(as_source(x[:, None]), [0.25, 0.5, 0.75])[:, 0]
print("quartiles", exact, "as NumPy's:", (exact == np.quantile(x, [0.25, 0.5, 0.75])).all())

figure, axes = plt.subplots(figsize=(8, 4.4))
for k, size in enumerate((256, 1024, 4096)):
    n, found, promised = errors(size)
    axes.loglog(n, promised, color=f"C{k}", ls="--", lw=1.2)
    axes.loglog(n, np.maximum(found, 1e-6), "o-", color=f"C{k}", ms=4)
    axes.annotate(f"{size} values a level", (n[-1], found[-1]), (6, -3), color=f"C{k}",
                  textcoords="offset points")  # fmt: skip
axes.set(
    xlabel="values seen",
    ylabel="error of a rank, as a share of them",
    title="What the sketch promises (dashed), and the worst of 49 quantiles",
    xlim=(1.5e4, 4e6),
)
plt.show()
