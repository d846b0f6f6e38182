"""What is raised where a file or a model cannot be exchanged."""

from __future__ import annotations

__all__ = ["CannotConvert", "ModelFileError"]


class ModelFileError(ValueError):
    """A file is no model of this library, is damaged, or wants more than is trusted.

    Examples
    --------
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class CannotConvert(ModelFileError):  # noqa: N818, a sentence about the model
    """A part of a model has no form in another format; the error says which.

    Examples
    --------
    >>> issubclass(CannotConvert, ValueError)
    True
    """
