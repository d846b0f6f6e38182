"""Research: may change without notice.

Machines and programs of the literature that are tested and documented like the library below them,
which imports none of them: hyperparameters as part of the problem (`fusion`), linear
models (`linear`), machines without slack and networks (`estimators`), distributions of a sample
(`density`), the noise from pairs of samples (`noise`), kernels and operators (`kernels`,
`operators`), programs with cones (`programs`), spectra and realizations of series (`series`),
diagnostics of theory (`diagnostics`), bounds on the risk and an audit of their rows
(`risk_bounds`), solution paths and held-out choices (`selection`), rates of few terms
(`compression`), clusters and planes (`manifold`), covering numbers (`covering`), and figures
(`plotting`).
"""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a subpackage on first use."""
    if name in __dir__():
        return import_module(f"mercer_research.{name}")
    raise AttributeError(f"module 'mercer_research' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(found.name for found in iter_modules(__path__) if found.ispkg)
