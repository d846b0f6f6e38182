"""The version of the package, written here and nowhere else, and how the package is installed."""

from __future__ import annotations

__all__ = ["FOLDERS", "PACKAGES", "PUBLISHED", "__version__", "installation"]

__version__ = "0.1.0"

# Nothing is on the index yet, and the name may belong to somebody else there: until a maintainer
# has looked (docs/contribute/release.md), messages and pages install from a clone.
PUBLISHED = False

FOLDERS = {
    "cli": "./packages/mercer-studio",
    "studio": "./packages/mercer-studio[studio]",
    "research": "./packages/mercer-research",
}
"""Extras that are distributions of their own, and where a clone has them."""

PACKAGES = ("mercer", "mercer_research")
"""Packages whose classes count as this library's own: in model files, audits and warm starts."""


def installation(extra: str = "", *, published: bool = PUBLISHED) -> str:
    """Return the command that installs this library.

    Parameters
    ----------
    extra : str, default=""
        Extras of `pyproject.toml`, separated by commas.
    published : bool, default=PUBLISHED
        Whether by the name on the index; otherwise from a clone, where some extras are
        distributions of their own.

    Examples
    --------
    >>> installation("data,studio", published=True)
    'pip install "mercer[data,studio]"'
    >>> installation("data,studio", published=False)
    'pip install ".[data]" "./packages/mercer-studio[studio]"'
    """
    if published:
        return f'pip install "mercer[{extra}]"' if extra else "pip install mercer"
    extras = extra.split(",") if extra else []
    own = ",".join(one for one in extras if one not in FOLDERS)
    asked = [folder for extra, folder in FOLDERS.items() if extra in extras]
    # The studio has the command line: of one folder, the last is kept.
    folders = {folder.partition("[")[0]: folder for folder in asked}.values()
    parts = [f".[{own}]" if own else ".", *folders]
    return " ".join(["pip install", *(f'"{one}"' if "[" in one else one for one in parts)])
