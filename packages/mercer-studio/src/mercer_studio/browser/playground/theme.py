"""Colours of the playground, for light and dark pages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "LIGHT", "Theme"]


@dataclass(frozen=True)
class Theme:
    """The colours that the playground draws with; backgrounds stay transparent.

    Parameters
    ----------
    classes : tuple of str
        Colours of the three classes as ``#rrggbb``, told apart also without red or green.
    ink : str
        Lines, rings and words.
    soft : str
        Axes and their labels.
    line : str
        Grid lines and frames.
    halo : str
        The colour behind lines and points, that of the page.
    """

    classes: tuple[str, str, str] = ("#0072b2", "#d55e00", "#009e73")
    ink: str = "#1a1a1a"
    soft: str = "#4d4d4d"
    line: str = "#d0d0d0"
    halo: str = "#ffffff"

    def ramps(self, steps: int = 85, darkest: float = 0.62) -> list[str]:
        """Return a ramp from transparent to its colour for every class, one after the other.

        Parameters
        ----------
        steps : int, default=85
            Colours of one ramp; three of them fill the 255 values of a byte.
        darkest : float, default=0.62
            Opacity of the last colour of a ramp.

        Examples
        --------
        >>> from mercer_studio.browser.playground import LIGHT
        >>> LIGHT.ramps(steps=3)[:4]
        ['#0072b200', '#0072b24f', '#0072b29e', '#d55e0000']
        """
        return [
            f"{colour}{round(255 * darkest * k / (steps - 1)):02x}"
            for colour in self.classes
            for k in range(steps)
        ]


LIGHT = Theme()
"""Colours on a light page."""

DARK = Theme(
    classes=("#56b4e9", "#ff9244", "#2fc79a"),
    ink="#f0f0f0",
    soft="#b8b8b8",
    line="#454545",
    halo="#15191e",
)
"""Colours on a dark page."""
