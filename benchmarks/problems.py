"""What is measured: machines, data and settings, the same for every contender."""

from dataclasses import asdict, dataclass, field
from typing import Any

# Memory for kernel values in MB and the stopping tolerance: scikit-learn's defaults.
COMMON = {"cache_size": 200, "tol": 1e-3}


@dataclass(frozen=True)
class Problem:
    """One machine on one data set; features (and regression targets) are standardized.

    The kernel is Gaussian with ``gamma = width / n_features``.
    """

    machine: str
    data: str
    n: int
    n_test: int
    settings: dict[str, float] = field(default_factory=dict)
    width: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.machine}-{self.data}-{self.n}"

    def parameters(self, n_features: int) -> dict[str, Any]:
        return {**self.settings, **COMMON, "gamma": self.width / n_features}

    def key(self) -> dict[str, Any]:
        return asdict(self)


FULL = [
    Problem("SVC", "a9a", 20_000, 5_000, {"C": 1.0}),
    Problem("SVC", "ijcnn1", 20_000, 5_000, {"C": 10.0}),
    Problem("SVC", "letter", 15_000, 5_000, {"C": 10.0}),
    Problem("SVC", "pendigits", 8_000, 2_000, {"C": 10.0}),
    Problem("SVC", "satimage", 4_500, 1_900, {"C": 10.0}),
    Problem("SVC", "spambase", 3_600, 1_000, {"C": 10.0}),
    Problem("SVR", "california", 15_000, 5_000, {"C": 1.0, "epsilon": 0.1}),
    Problem("SVR", "cpusmall", 6_000, 2_000, {"C": 10.0, "epsilon": 0.1}),
    Problem("SVR", "kin8nm", 6_000, 2_000, {"C": 1.0, "epsilon": 0.1}),
    Problem("SVR", "abalone", 3_000, 1_000, {"C": 10.0, "epsilon": 0.1}),
    Problem("NuSVC", "a9a", 8_000, 5_000, {"nu": 0.3}),
    Problem("NuSVC", "letter", 10_000, 5_000, {"nu": 0.1}),
    Problem("NuSVR", "california", 6_000, 5_000, {"C": 1.0, "nu": 0.5}),
    Problem("NuSVR", "kin8nm", 6_000, 2_000, {"C": 1.0, "nu": 0.5}),
    Problem("OneClassSVM", "ijcnn1", 20_000, 5_000, {"nu": 0.1}),
    Problem("OneClassSVM", "satimage", 4_500, 1_900, {"nu": 0.1}),
]

# From scikit-learn's own data, so that they run anywhere, with every kind of machine but one.
SHORT = [
    Problem("SVC", "digits", 1_500, 200, {"C": 10.0}),
    Problem("SVR", "diabetes", 400, 40, {"C": 10.0, "epsilon": 0.1}),
    Problem("NuSVC", "breast_cancer", 500, 60, {"nu": 0.1}),
]
