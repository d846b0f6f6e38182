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
        Extras of `pyproject.toml`, separated by commas.
    published : bool, default=PUBLISHED
        Whether by the name on the index; otherwise from a clone, where the extras ``cli`` and
        ``studio`` are a package of their own.

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
    own = ",".join(one for one in extras if one not in ("cli", "studio"))
    command = f'pip install ".[{own}]"' if own else "pip install ."
    if "studio" in extras:
        return f'{command} "./packages/mercer-studio[studio]"'
    return f"{command} ./packages/mercer-studio" if "cli" in extras else command
