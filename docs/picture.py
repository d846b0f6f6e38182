"""Draw the picture of the README, docs/_static/one_functional.png."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
from gallery import STYLE

plt.switch_backend("agg")
plt.rcParams.update(STYLE)
HERE = Path(__file__).parent
runpy.run_path(str(HERE.parent / "examples" / "plot_one_functional.py"))
plt.gcf().savefig(HERE / "_static" / "one_functional.png", dpi=110)
