"""A grid and a call in turns, so that their times are those of one machine at one moment."""

from benchmarks.tuning.grids import CLASSIFIERS as THEIR_CLASSIFIERS
from benchmarks.tuning.grids import REGRESSORS as THEIR_REGRESSORS
from benchmarks.tuning.ours import CLASSIFIERS as OUR_CLASSIFIERS
from benchmarks.tuning.ours import REGRESSORS as OUR_REGRESSORS

# Who is compared with whom. Of least-squares classifiers scikit-learn has none with a kernel.
PAIRS = (
    ("mercer LSSVR tuned", "KernelRidge grid"),
    ("mercer SVR tuned", "SVR grid"),
    ("mercer LSSVC tuned", "SVC grid"),
    ("mercer SVC tuned", "SVC grid"),
)
NAMES = {name for pair in PAIRS for name in pair}
REGRESSORS = {k: v for k, v in (THEIR_REGRESSORS | OUR_REGRESSORS).items() if k in NAMES}
CLASSIFIERS = {k: v for k, v in (THEIR_CLASSIFIERS | OUR_CLASSIFIERS).items() if k in NAMES}
