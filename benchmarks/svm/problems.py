"""What is measured: machines, data and settings, the same for every contender.

Every row says where its settings are from: a publication, round numbers, or the coarse grid that
``make bench SUITE=grid`` repeats (the smallest C within half a point of the best score).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from data import MISSING, Sample, draw

# Memory for kernel values in MB, enough for no contender to be short of it on most problems, and
# scikit-learn's default tolerance.
COMMON = {"cache_size": 2000, "tol": 1e-3}


@dataclass(frozen=True)
class Problem:
    """One machine with a Gaussian kernel on one data set.

    ``scaling`` and ``official`` are those of :func:`data.draw`. With ``repeat`` every row occurs so
    many times among the ``n``. ``contenders``, if any are given, are the only ones that take part.
    ``group`` is what a geometric mean is taken over.
    """

    machine: str
    data: str
    n: int
    n_test: int
    gamma: float
    settings: dict[str, float] = field(default_factory=dict)
    scaling: str = "standard"
    official: bool = False
    source: str = ""
    label: str = ""
    repeat: int = 1
    contenders: tuple[str, ...] = ()
    group: str = "main"

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.machine, self.data, str(self.n), self.label)))

    def parameters(self) -> dict[str, Any]:
        return {**self.settings, **COMMON, "gamma": self.gamma}

    def key(self) -> dict[str, Any]:
        return {**asdict(self), "contenders": list(self.contenders)}

    def family(self) -> dict[str, Any]:
        """Return what two samples of one problem, a small and a large one, have in common."""
        return {k: v for k, v in self.key().items() if k not in ("n", "n_test", "contenders")}

    def sample(self) -> Sample:
        sample = draw(
            self.data,
            self.n // self.repeat,
            self.n_test,
            scaling=self.scaling,
            official=self.official,
        )
        X, y = np.tile(sample.X, (self.repeat, 1)), np.tile(sample.y, self.repeat)
        return sample._replace(X=X, y=y)


PLATT = "Platt (1999): variance 10"
HSU = "Hsu and Lin (2002), one against one"
HSIEH = "Hsieh, Si and Dhillon (2014)"
GRID = "grid"
ROUND = "round numbers"
AUTO = "gamma = 1 / features"

RAW: dict[str, Any] = {"scaling": "none", "official": True}
GREY: dict[str, Any] = {"scaling": "largest", "official": True}
BOX: dict[str, Any] = {"scaling": "interval", "official": True}
COVTYPE = Problem("SVC", "covtype_binary", 50_000, 10_000, 0.1, {"C": 10.0}, source=ROUND)

CLASSIFICATION = [
    Problem("SVC", "a9a", 32_561, 10_000, 0.03, {"C": 1.0}, **RAW, source=ROUND),
    Problem("SVC", "w8a", 49_749, 10_000, 0.05, {"C": 5.0}, **RAW, source=PLATT),
    Problem("SVC", "ijcnn1", 49_990, 10_000, 2.0, {"C": 32.0}, **RAW, source=HSIEH),
    Problem("SVC", "cod_rna", 59_535, 10_000, 0.5, {"C": 10.0}, official=True, source=ROUND),
    COVTYPE,
    replace(COVTYPE, n=100_000),
    Problem("SVC", "mnist_even", 20_000, 5_000, 0.02, {"C": 5.0}, **GREY, source=ROUND),
    Problem(
        "SVC",
        "mnist",
        60_000,
        10_000,
        0.02,
        {"C": 5.0},
        **GREY,
        source=ROUND,
        contenders=("mercer", "scikit-learn-intelex", "bare"),
    ),
    Problem("SVC", "letter", 15_000, 5_000, 4.0, {"C": 16.0}, **BOX, source=HSU),
    Problem("SVC", "skin", 200_000, 10_000, 4 / 3, {"C": 10.0}, source=GRID),
    Problem("SVC", "spambase", 3_600, 1_000, 1 / 57, {"C": 10.0}, source=AUTO),
]

# Machine settings shared by the two ways to choose the width of the tube.
REGRESSION = [
    replace(base, machine=machine, settings=base.settings | extra)
    for base in (
        Problem("SVR", "california", 15_000, 5_000, 1 / 8, {"C": 10.0}, source=GRID),
        Problem("SVR", "kin40k", 10_000, 10_000, 1 / 8, {"C": 10.0}, source=GRID),
        Problem("SVR", "cpusmall", 6_000, 2_000, 0.025, {"C": 10.0}, source=GRID),
        Problem("SVR", "protein_casp", 20_000, 10_000, 16 / 9, {"C": 1.0}, source=GRID),
    )
    for machine, extra in (("SVR", {"epsilon": 0.1}), ("NuSVR", {"nu": 0.5}))
]

NOVELTY = [
    Problem("OneClassSVM", "kdd99_http", 100_000, 10_000, 1 / 3, {"nu": 0.01}, source=AUTO),
]

# Smaller problems and machines of the first benchmark of this library.
SMALL = [
    replace(problem, group="small", source=problem.source or AUTO)
    for problem in (
        Problem("SVC", "pendigits", 8_000, 2_000, 1 / 16, {"C": 10.0}),
        Problem("SVC", "satimage", 4_435, 2_000, 1.0, {"C": 16.0}, **BOX, source=HSU),
        Problem("SVR", "kin8nm", 6_000, 2_000, 1 / 8, {"C": 1.0, "epsilon": 0.1}),
        Problem("SVR", "abalone", 3_000, 1_000, 1 / 10, {"C": 10.0, "epsilon": 0.1}),
        Problem("NuSVC", "a9a", 8_000, 5_000, 0.03, {"nu": 0.3}, **RAW, source=ROUND),
        Problem("NuSVC", "letter", 10_000, 5_000, 1 / 16, {"nu": 0.1}),
        Problem("OneClassSVM", "ijcnn1", 20_000, 5_000, 1 / 22, {"nu": 0.1}),
    )
]

EXACT = CLASSIFICATION + REGRESSION + NOVELTY + SMALL

# Every kind of machine on data that are there anywhere, and two more where the folder of data is.
SHORT = [
    Problem("SVC", "hastie", 8_000, 2_000, 0.1, {"C": 1.0}),
    Problem("SVC", "moons", 15_000, 2_000, 1.0, {"C": 10.0}),
    Problem("SVC", "digits", 1_500, 200, 1 / 64, {"C": 10.0}),
    Problem("SVR", "friedman1", 6_000, 2_000, 0.1, {"C": 1.0, "epsilon": 0.1}),
] + (
    []
    if MISSING
    else [
        Problem("SVC", "a9a", 8_000, 2_000, 0.03, {"C": 1.0}, **RAW),
        replace(COVTYPE, n=8_000, n_test=2_000),
    ]
)

GROWTH = [replace(COVTYPE, n=12_500 * 2**k) for k in range(6)]  # to 400,000 rows

# Ten values of C, ascending, each machine started from the last one.
PATH_VALUES = [float(C) for C in np.geomspace(0.1, 100.0, 10)]
PATH = [
    replace(COVTYPE, n=10_000, n_test=1_000),
    Problem("SVC", "mnist_even", 10_000, 1_000, 0.02, **GREY),
    Problem("SVC", "cod_rna", 20_000, 1_000, 0.5, official=True),
]


def _hard() -> Iterator[Problem]:
    """Spoil three well-posed problems in the ways that users do."""
    for base in (
        Problem("SVC", "spambase", 3_600, 1_000, 1 / 57, {"C": 10.0}),
        replace(COVTYPE, n=4_000, n_test=1_000, source=""),
        Problem("SVR", "cpusmall", 4_000, 1_000, 0.025, {"C": 10.0, "epsilon": 0.1}),
    ):
        yield replace(base, label="as-it-should-be")
        yield replace(base, label="large-C", settings=base.settings | {"C": 1e4})
        yield replace(base, label="gamma-times-10", gamma=10 * base.gamma)
        yield replace(base, label="gamma-over-10", gamma=base.gamma / 10)
        yield replace(base, label="every-row-4-times", repeat=4)
        yield replace(base, label="unscaled", scaling="none")


HARD = list(_hard())
