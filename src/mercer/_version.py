"""The version of the package, written here and nowhere else, and how the package is installed."""

from __future__ import annotations

__all__ = ["PUBLISHED", "__version__", "installation"]

__version__ = "0.1.0"

# Nothing is on the index yet, and the name may belong to somebody else there: until a maintainer
# has looked (docs/contribute/release.md), messages and pages install from a clone.
PUBLISHED = False


def installation(extra: str = "", *, published: bool = PUBLISHED) -> str:
    """Return the command that installs this library.

    Parameters
    ----------
    extra : str, default=""
        An extra of `pyproject.toml`.
    published : bool, default=PUBLISHED
        Whether by the name on the index; otherwise from a clone.

    Examples
    --------
    >>> installation("cli", published=False), installation("cli", published=True)
    ('pip install ".[cli]"', 'pip install "mercer[cli]"')
    """
    name = "mercer" if published else "."
    return f'pip install "{name}[{extra}]"' if extra else f"pip install {name}"
