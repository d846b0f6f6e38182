"""Tensors of PyTorch, on a processor or on a graphics card."""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch

from mercer.reduced.devices import Device

__all__ = ["Tensors", "device"]


class Tensors(Device):
    """A device of PyTorch, which travels by its name.

    Parameters
    ----------
    name : str
        "cpu", "cuda", "cuda:1", "xpu", ...

    Examples
    --------
    >>> at = Tensors("cpu")
    >>> at.to_device([[1.0, 2.0]]) @ at.to_device([[3.0], [4.0]])
    tensor([[11.]], dtype=torch.float64)
    """

    def __init__(self, name: str) -> None:
        try:
            where = torch.device(name)
            # Says now, and not in the first pass, that there is no such device.
            torch.empty(1, dtype=torch.float64, device=where)
        except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
            raise ValueError(
                f"PyTorch cannot hold double precision on the device {name!r} here "
                f"({str(error).splitlines()[0]}): name another, or leave device at None."
            ) from error
        super().__init__(xp, where)
        self.name = name

    def __reduce__(self) -> tuple[type[Tensors], tuple[str]]:
        return Tensors, (self.name,)

    def home(self, tensor: Any) -> Any:
        return tensor.detach().cpu()


def device(name: str) -> Tensors:
    """Return a device of PyTorch by its name.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> device("cpu").device
    device(type='cpu')
    """
    return Tensors(name)
