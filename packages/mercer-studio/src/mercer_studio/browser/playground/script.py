"""The lines of Python that repeat a fit of the playground, to the last bit."""

from __future__ import annotations

from mercer._typing import Array
from mercer_studio.browser.playground.point_sets import WINDOW, Labels
from mercer_studio.browser.playground.settings import Recipe

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
    >>> from mercer_studio.browser.playground.script import write_script
    >>> from mercer_studio.browser.playground.settings import Recipe
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
    # The decision values that are drawn.
    x1, x2 = np.linspace(-3.0, 3.0, 97), np.linspace(-2.25, 2.25, 73)
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    values = machine.decision_function(grid)
    """
    left, right, low, high = WINDOW
    if task == "classes":
        rows = [_row("X", points.tolist(), short), _row("y", labels.tolist(), short)]
        fit = [f"machine = {recipe.call()}.fit(X, y)"]
        evaluate = [
            "# The decision values that are drawn.",
            f"x1, x2 = np.linspace({left}, {right}, 97), np.linspace({low}, {high}, 73)",
            "grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)",
            "values = machine.decision_function(grid)",
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
        return f"{name} = np.array([{numbers[0]!r}, ...])  # {len(numbers)} points"
    return _wrap(f"{name} = np.array([", [repr(one) for one in numbers], "])")


def _wrap(line: str, words: list[str], end: str) -> str:
    """Return words with commas between them in lines of at most 96 characters."""
    lines: list[str] = []
    for k, word in enumerate(words):
        part = word + (end if k + 1 == len(words) else ",")
        space = "" if line.endswith(("[", "    ")) else " "
        if len(line) + len(space) + len(part) > 96:
            lines.append(line)
            line, space = "    ", ""
        line += space + part
    return "\n".join([*lines, line])
