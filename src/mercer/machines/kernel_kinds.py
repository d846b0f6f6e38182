"""What a machine's parameter ``kernel`` is: a matrix, a plain function, or a Kernel of objects."""

from __future__ import annotations

from mercer.kernels.base import Kernel

__all__ = ["compares_objects", "is_function", "is_precomputed"]


def is_precomputed(kernel: object) -> bool:
    """Return whether the kernel is a matrix that is given in place of points."""
    if isinstance(kernel, str):
        return kernel == "precomputed"
    return isinstance(kernel, Kernel) and bool(kernel.precomputed)


def is_function(kernel: object) -> bool:
    """Return whether the kernel is a plain function, called on whole samples of whatever they are.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> is_function("rbf"), is_function(Gaussian(1.0)), is_function(lambda X, Z: X @ Z.T)
    (False, False, True)
    """
    if isinstance(kernel, str):
        return False
    of_kernels = isinstance(kernel, type) and issubclass(kernel, Kernel)
    return callable(kernel) and not (of_kernels or isinstance(kernel, Kernel))


def compares_objects(kernel: object) -> bool:
    """Return whether the kernel compares objects that are not rows of numbers."""
    return not isinstance(kernel, str) and isinstance(kernel, Kernel) and not kernel.numeric
