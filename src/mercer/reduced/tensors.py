"""Tensors of PyTorch, on a processor or on a graphics card."""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch

from mercer.reduced.devices import Device

__all__ = ["Tensors", "device"]


CARD_TILE = 2**25
"""Bytes of kernel values that are computed and summed at once on a graphics card: some millions of
numbers for each call, and less than its last cache where that has 40 MB and more."""


class Overwriting:
    """Functions of PyTorch that write over their argument, for profiles of squared distances."""

    exp, sqrt, log, log1p = torch.exp_, torch.sqrt_, torch.log_, torch.log1p_
    clip, where, ones_like = torch.clamp_, torch.where, torch.ones_like


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
        if where.type != "cpu":
            self.tile = CARD_TILE

    @property
    def overwriting(self) -> Any:
        return Overwriting

    def squared_distances(self, P: Any, Q: Any, pp: Any, qq: Any, out: Any = None) -> Any:
        # Norms are two more features, |p|^2 1 + 1 |q|^2 - 2 p'q: the product writes a block once.
        left = torch.cat([P, pp[:, None], torch.ones_like(pp)[:, None]], dim=1)
        right = torch.cat([-2.0 * Q, torch.ones_like(qq)[:, None], qq[:, None]], dim=1)
        return torch.mm(left, right.T, out=out).clamp_(min=0.0)

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
