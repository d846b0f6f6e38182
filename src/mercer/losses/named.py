"""Losses by name, for whatever accepts a loss or its name: the only table of these names."""

from __future__ import annotations

import re
from types import ModuleType

from mercer._words import did_you_mean
from mercer.losses import classification, log_cosh, power, power_hinge, regression
from mercer.losses.base import Loss
from mercer.losses.classification import Logistic
from mercer.losses.regression import Absolute, Pinball, Squared

__all__ = ["CLASSIFICATION", "REGRESSION", "resolve"]


def _names(*modules: ModuleType) -> dict[str, type[Loss]]:
    """Name losses that modules export as their classes, in lower case with underscores."""
    return {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Loss")).lower(): getattr(module, name)
        for module in modules
        for name in module.__all__
    }


REGRESSION = _names(regression, log_cosh, power) | {
    "squared_error": Squared,
    "mse": Squared,
    "absolute_error": Absolute,
    "mae": Absolute,
    "quantile": Pinball,
}
"""Losses of a number, by their own names and by those of other libraries."""

CLASSIFICATION = _names(classification, power_hinge) | {"squared": Squared, "log_loss": Logistic}
"""Losses of a label plus or minus one; the squared loss is the least-squares classifier."""


def resolve(loss: Loss | str, names: dict[str, type[Loss]]) -> Loss:
    """Return the loss meant by a name, with its default parameters, or the loss itself.

    Examples
    --------
    >>> from mercer.losses.named import CLASSIFICATION, resolve
    >>> resolve("hinge", CLASSIFICATION)
    Hinge(margin=1.0)
    """
    if isinstance(loss, Loss):
        return loss
    if loss in names:
        return names[loss]()
    raise ValueError(
        f"loss must be a Loss or one of {', '.join(sorted(names))}; got {loss!r}."
        f"{did_you_mean(loss, names)}"
    )
