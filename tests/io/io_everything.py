"""Every exported estimator, fitted."""

from collections.abc import Iterator
from typing import Any

from unchanged import fits

# Values with a `fit` of their own, which are no models that somebody would save.
VALUES = {
    "mercer_research.series.autoregression.AutoRegression",
    "mercer_research.series.autoregression.SpatialAutoRegression",
    "mercer_research.noise.DifferogramCloud",
    "smoothing.factored.Factored",
    "tune",
}


def fitted() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield every exported estimator, fitted, with the methods to ask and the points."""
    for name, cases in fits.CASES.items():
        if name in VALUES:
            continue
        case = next(iter(cases.values()))
        model = case.make()
        if name == "Forecaster":
            yield name, model.fit(fits.SERIES), ("forecast",), 5
            continue
        model.fit(case.X, case.y)
        yield name, model, [one for one in case.outputs if hasattr(model, one)], case.at
