"""What a display declares becomes its constructor, its class methods and their documentation."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest

import mercer.plotting
from mercer.plotting.base import Display, Factory


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def measure(rows, *, factor=2.0):
    """Multiply.

    Parameters
    ----------
    rows : list
        What is multiplied.

    Returns
    -------
    list
    """
    return [factor * row for row in rows]


class Toy(Display):
    """A line."""

    heights: list[float]
    title: str = "plain"
    from_rows = Factory(measure)

    def plot(self, ax=None, **kwargs):
        """Draw the line."""
        ax = self._draw_on(ax)
        (self.line_,) = ax.plot(self.heights, **kwargs)
        return self._finish(title=self.title, legend="label" in kwargs)


def test_a_factory_parts_its_arguments():
    _, ax = plt.subplots()
    toy = Toy.from_rows([1.0, 2.0], factor=3.0, title="three", ax=ax, lw=5.0, label="line")
    assert (toy.heights, toy.title, toy.ax_, toy.figure_) == ([3.0, 6.0], "three", ax, ax.figure)
    assert (toy.line_.get_linewidth(), ax.get_title()) == (5.0, "three")
    assert not ax.get_legend().get_frame_on()
    assert Toy.from_rows([1.0]).ax_.get_legend() is None


def test_a_factory_shows_the_parameters_of_its_function():
    names = [*inspect.signature(Toy.from_rows).parameters]
    assert names == ["rows", "factor", "title", "ax", "kwargs"]
    assert "rows : list\n    What is multiplied.\ntitle :\n" in Toy.from_rows.__doc__
    assert Toy.from_rows.__name__ == "from_rows"


def test_fields_are_keywords():
    assert str(inspect.signature(Toy)) == "(*, heights: list[float], title: str = 'plain') -> None"
    with pytest.raises(TypeError, match="heights"):
        Toy()


@pytest.mark.parametrize("name", mercer.plotting.__all__)
def test_every_way_to_a_figure_is_documented(name):
    display = getattr(mercer.plotting, name)
    ways = ["plot", *(way for way in dir(display) if way.startswith("from_"))]
    for way in ways:
        text = inspect.getdoc(getattr(display, way))
        assert text.count("Returns\n-------\n") == text.count("Parameters\n----------\n") == 1
        assert text.index("\nax : ") < text.index(f"Returns\n-------\n{name}")
        assert "ax" in inspect.signature(getattr(display, way)).parameters


def test_axes_in_columns():
    axes = Toy(heights=[])._draw_on_each(None, 5, 3, (2.0, 1.0))
    assert len(axes) == len(axes[0].figure.axes) == 5
    np.testing.assert_array_equal(axes[0].figure.get_size_inches(), [6.0, 2.0])
