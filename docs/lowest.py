"""Print the lowest versions that this library says it works with, a requirement a line."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(requirements: list[str]) -> list[str]:
    """Return requirements with each lower bound made an equality.

    Examples
    --------
    >>> lowest(["numpy>=1.26", "scipy>=1.11,<2", "click"])
    ['numpy==1.26', 'scipy==1.11', 'click']
    """
    return [re.sub(r">=\s*([\w.]+).*", r"==\1", requirement) for requirement in requirements]


if __name__ == "__main__":
    print("\n".join(lowest(tomllib.loads(PROJECT.read_text())["project"]["dependencies"])))
