"""Every exported estimator, fitted."""

from collections.abc import Iterator
from typing import Any

from fits import FITS


def fitted() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield every exported estimator, fitted, with the methods to ask and the points."""
    for name, fit in FITS.items():
        model = fit.make()
        if name == "Forecaster":
            yield name, model.fit(fit.y), ("forecast",), 5
            continue
        model.fit(fit.X, fit.y)
        yield name, model, [one for one in fit.outputs if hasattr(model, one)], fit.at
