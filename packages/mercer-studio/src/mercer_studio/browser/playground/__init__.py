"""The playground: points drawn by hand, a machine fitted to them while a slider moves.

The model needs no browser: a :class:`Playground` is a value with points and :class:`Settings`, and
its `fit` returns a :class:`Picture` with everything that is drawn. The view for a browser or a
notebook is `mercer_studio.browser.playground.view.PlaygroundView`, which needs Panel.
"""

from mercer_studio.browser.playground.model import DARK, LIGHT, Picture, Playground, Theme
from mercer_studio.browser.playground.settings import POINT_SETS, PointSet, Settings

__all__ = ["DARK", "LIGHT", "POINT_SETS", "Picture", "Playground", "PointSet", "Settings", "Theme"]
