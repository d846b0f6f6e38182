"""The lines of Python that repeat a fit of the playground, to the last bit."""

from __future__ import annotations

import textwrap

from mercer._typing import Array
from mercer.studio.playground.point_sets import WINDOW, Labels
from mercer.studio.playground.settings import Recipe

__all__ = ["write_script"]


def write_script(
    points: Array, labels: Labels, task: str, recipe: Recipe, *, short: bool = False
) -> str:
    """Return a script that fits the same machine and evaluates it where the picture does.

    Coordinates are written with all their digits, so that what the script computes has the same
    bits as what is drawn.

    Parameters
    ----------
    points, labels : ndarray of shape (n, 2) and (n,)
    task : {"classes", "curve"}
    recipe : Recipe
        The estimator.
    short : bool, default=False
        Write ``...`` for the points, to be read rather than run.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.studio.playground.script import write_script
    >>> from mercer.studio.playground.settings import Recipe
    >>> points = np.array([[0.0, 0.5], [1.0, 0.25]])
    >>> print(write_script(points, np.array([0, 1]), "classes", Recipe("SVC", {"C": 2.0})))
    import numpy as np
    from mercer import SVC
    <BLANKLINE>
    X = np.array([[0.0, 0.5], [1.0, 0.25]])
    y = np.array([0, 1])
    machine = SVC(C=2.0).fit(X, y)
    print(machine.solution_)
    <BLANKLINE>
    # The decision values that are drawn, a row of the picture after the other.
    x1, x2 = np.meshgrid(np.linspace(-3.0, 3.0, 97), np.linspace(-2.25, 2.25, 73))
    values = machine.decision_function(np.column_stack([x1.ravel(), x2.ravel()]))
    """
    left, right, low, high = WINDOW
    if task == "classes":
        rows = [_row("X", points.tolist(), short), _row("y", labels.tolist(), short)]
        fit = [f"machine = {recipe.call()}.fit(X, y)"]
        evaluate = [
            "# The decision values that are drawn, a row of the picture after the other.",
            f"x1, x2 = np.meshgrid(np.linspace({left}, {right}, 97), "
            f"np.linspace({low}, {high}, 73))",
            "values = machine.decision_function(np.column_stack([x1.ravel(), x2.ravel()]))",
        ]
    else:
        rows = [_row("x", points[:, 0].tolist(), short), _row("y", points[:, 1].tolist(), short)]
        fit = [f"machine = {recipe.call()}.fit(x[:, None], y)"]
        evaluate = [
            "# The curve that is drawn.",
            f"values = machine.predict(np.linspace({left}, {right}, 401)[:, None])",
        ]
    lines = ["import numpy as np", *recipe.imports(), "", *rows, *fit]
    return "\n".join([*lines, "print(machine.solution_)", "", *evaluate])


def _row(name: str, numbers: list[list[float]] | list[float] | list[int], short: bool) -> str:
    if short and len(numbers) > 3:
        inner = ", ".join(map(repr, numbers[:2]))
        return f"{name} = np.array([{inner}, ...])  # {len(numbers)} points: copy to have them all"
    return textwrap.fill(
        f"{name} = np.array({numbers!r})", 96, subsequent_indent="    ", break_on_hyphens=False
    )
