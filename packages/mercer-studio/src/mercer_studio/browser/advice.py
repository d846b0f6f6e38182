"""Help to choose: what a person knows or needs, and the machine that uses it, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ADVICE", "Advice", "advised"]


@dataclass(frozen=True)
class Advice:
    """Something that a person may know or need, and what follows.

    Parameters
    ----------
    said : str
        In the words of the person.
    task : str
        The task that it is about.
    machine : str or None
        What is fitted; None for the machine that reads tables and chooses by itself.
    why : str
        The reason.
    settings : mapping
        Parameters of the machine.
    """

    said: str
    task: str
    machine: str | None
    why: str
    settings: Mapping[str, Any] = field(default_factory=dict)


_TABLES = "it reads tables as they are, and stacks machines that the data choose"

ADVICE = (
    Advice("Nothing in particular: the best prediction", "regression", None, _TABLES),
    Advice(
        "The function is smooth, and I want to see its kernel",
        "regression",
        "LSSVR",
        "kernel ridge regression: exact, with left-out errors and bands in closed form",
    ),
    Advice(
        "Small errors do not matter, few rows should carry the model",
        "regression",
        "SVR",
        "errors inside a tube cost nothing, and rows inside it are not support vectors",
    ),
    Advice(
        "Some targets are grossly wrong",
        "regression",
        "HuberSVR",
        "large errors count in proportion, not by their square",
    ),
    Advice(
        "I need medians and quantiles",
        "regression",
        "QuantileBand",
        "several quantiles at once, which do not cross",
    ),
    Advice(
        "Effects of columns add up, and I want a curve for each",
        "regression",
        "AdditiveRegressor",
        "a sum of one function of each column",
    ),
    Advice(
        "Rows are places, and I need a map with its errors",
        "regression",
        "UniversalKriging",
        "best linear prediction of a field with a trend, and the variance of its error",
        {"optimize": True},
    ),
    Advice("Nothing in particular: the best prediction", "classification", None, _TABLES),
    Advice(
        "I know support vector machines",
        "classification",
        "SVC",
        "the largest margin, and few rows that carry it",
    ),
    Advice(
        "I need probabilities",
        "classification",
        "KernelLogisticRegression",
        "its loss is the log-likelihood, so probabilities come with the fit",
    ),
    Advice(
        "There are many classes",
        "classification",
        "LSSVC",
        "one matrix for all classes, by codes that correct errors",
    ),
    Advice(
        "Effects of columns add up, and I want a curve for each",
        "classification",
        "AdditiveClassifier",
        "a sum of one function of each column",
    ),
    Advice(
        "Inputs stretch the time until something happens",
        "survival",
        "CensoredRegressor",
        "times that are only known to be exceeded take part by their bounds",
    ),
    Advice(
        "A map that explains rows with probabilities",
        "structure",
        "GenerativeTopographicMap",
        "a smooth sheet with noise around it; the evidence chooses its smoothness",
    ),
    Advice(
        "Directions of largest variance, in seconds",
        "structure",
        "KernelPCA",
        "principal components in the space of the kernel",
    ),
    Advice(
        "A smooth surface through the middle of the cloud",
        "structure",
        "PrincipalManifold",
        "least mean distance with a penalty on roughness",
    ),
    Advice(
        "A curve through the middle of the cloud",
        "structure",
        "PrincipalCurve",
        "one coordinate along a curve of limited length",
    ),
)
"""What may be known or needed, by task; the first of a task stands if nobody says anything."""


def advised(task: str) -> list[Advice]:
    """Return what may be known or needed in a task.

    Parameters
    ----------
    task : str
        The task.

    Examples
    --------
    >>> advised("survival")[0].machine
    'CensoredRegressor'
    """
    return [one for one in ADVICE if one.task == task]
