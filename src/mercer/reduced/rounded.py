"""Losses with rounded kinks, around slopes that are computed again from earlier points."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.losses.base import Loss
from mercer.losses.smoothed import smoothed
from mercer.reduced.problem import columns_of, rows_of

__all__ = ["Rounded"]


class Rounded:
    r"""A loss with its kinks rounded around slopes that earlier points had.

    .. math:: l_\mu(f) = \sup_v\, v f - l^*(v) - \tfrac{\mu}{2} (v - v_0)^2

    The slopes :math:`v_0` are those of earlier rounded losses at earlier points, so that they are
    computed again from the coefficients of these points, and need not be kept.

    Parameters
    ----------
    loss : Loss
    state : dict
        ``mu`` (k,), and of earlier points ``A0`` (m, h k), ``b0`` (q, h k) and ``mu0`` (h, k).
    columns : index
        Which of the k problems.
    """

    def __init__(self, loss: Loss, state: dict[str, Any], columns: Any = slice(None)) -> None:
        self.loss, self.state, self.columns = loss, state, columns
        self.mu = state["mu"][None, columns]
        self.rounded = smoothed(loss, self.mu)
        self.earlier: list[tuple[Array, Array]] = []
        if not loss.smooth and len(state["mu0"]):
            h, k = state["mu0"].shape
            A, b = (state[name].reshape(-1, h, k)[:, :, columns] for name in ("A0", "b0"))
            self.A = A.reshape(len(A), -1)
            self.A_single = self.A.astype(np.float32)
            self.earlier = list(zip(b.swapaxes(0, 1), state["mu0"][:, None, columns], strict=True))

    def of(self, rows: slice) -> Rounded:
        """Return the loss of some of the rows, where each has parameters of its own."""
        loss = rows_of(self.loss, rows)
        return self if loss is self.loss else Rounded(loss, self.state, self.columns)

    def repeated(self, points: int) -> Rounded:
        """Return the loss at several points, rounded around zero slopes."""
        state = {"mu": np.tile(self.state["mu"], points), "mu0": self.state["mu0"][:0]}
        k = len(self.state["mu"])
        return Rounded(columns_of(self.loss, np.tile(np.arange(k), points)), state)

    def centre(self, y: Array, R: Any, p: Array) -> Array:
        """Return the slopes that earlier points left for rows with these raw values."""
        v = np.zeros(y.shape)
        if not self.earlier:
            return v
        values = R @ (self.A_single if R.dtype == np.float32 else self.A)
        k = y.shape[1]
        for j, (b, mu) in enumerate(self.earlier):
            f = np.asarray(values[:, j * k : (j + 1) * k], dtype=np.float64) + p @ b
            met = mu > 0  # a problem that has fewer earlier points than others
            v = np.where(met, smoothed(self.loss, mu).gradient(y, f + mu * v), v)
        return v
