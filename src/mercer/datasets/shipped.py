"""Small real sets that come with the library: CSV files of 150 kB in all."""

from __future__ import annotations

import csv
import gzip
import io
from functools import wraps
from importlib import resources
from typing import Any, Protocol

import numpy as np
from sklearn.utils import Bunch

from mercer._typing import AnyArray

PARAMETERS = """
    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    as_frame : bool, default=False
        Return a pandas DataFrame and Series instead of arrays.

    Returns
    -------
    sklearn.utils.Bunch or (data, target)
        With ``data``, ``target``, ``feature_names``, ``target_name``, ``frame`` (with
        `as_frame`) and ``DESCR``.
"""


class Loader(Protocol):
    """A function that reads one set."""

    __name__: str
    __doc__: str | None

    def __call__(self, *, return_X_y: bool = False, as_frame: bool = False) -> Any: ...


def _columns(name: str) -> dict[str, AnyArray]:
    """Return the columns of a file: numbers where all are, NaN where empty, else words."""
    packed = (resources.files("mercer.datasets") / "files" / f"{name}.csv.gz").read_bytes()
    header, *rows = csv.reader(io.StringIO(gzip.decompress(packed).decode()))
    cells = zip(*rows, strict=True)
    return {column: _values(each) for column, each in zip(header, cells, strict=True)}


def _values(cells: tuple[str, ...]) -> AnyArray:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)


def _loads(target: str, without: tuple[str, ...] = ()) -> Any:
    """Return a decorator that makes a loader of the docstring and the name of a function."""

    def decorate(function: Any) -> Loader:
        @wraps(function)
        def load(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
            columns = _columns(function.__name__.removeprefix("load_"))
            y = columns.pop(target)
            kept = {name: values for name, values in columns.items() if name not in without}
            found = Bunch(
                data=np.column_stack(list(kept.values())),
                target=y,
                feature_names=list(kept),
                target_name=target,
                DESCR=load.__doc__,
            )
            found |= {name: columns[name] for name in without}
            if as_frame:
                import pandas as pd

                found.frame = pd.DataFrame(columns | {target: y})
                found.data, found.target = found.frame[list(kept)], found.frame[target]
            return (found.data, found.target) if return_X_y else found

        summary, _, rest = (function.__doc__ or "").partition("\n\n")
        facts, mark, examples = rest.partition("    Examples\n")
        load.__doc__ = f"{summary}\n\n{facts.rstrip()}\n{PARAMETERS}\n{mark}{examples}"
        return load

    return decorate


@_loads("strength")
def load_concrete() -> None:
    """Return the strength of concrete by its mixture and age (regression).

    1,030 samples, 8 numbers: kilograms of cement, blast furnace slag, fly ash, water,
    superplasticizer, coarse and fine aggregate in a cubic metre, and the age in days; the target
    is the compressive strength in MPa. Strength grows with age and cement, which a machine can be
    told (`mercer.ShapeConstrainedRegressor`).

    I-Cheng Yeh, "Modeling of strength of high-performance concrete using artificial neural
    networks", Cement and Concrete Research 28 (1998), from the UCI Machine Learning Repository;
    CC BY 4.0.

    Examples
    --------
    >>> from mercer.datasets import load_concrete
    >>> X, y = load_concrete(return_X_y=True)
    >>> X.shape, round(float(y.mean()), 2)
    ((1030, 8), 35.82)
    """


@_loads("rings")
def load_abalone() -> None:
    """Return the age of abalone by their size (regression whose noise grows: intervals).

    4,177 snails, sex (M, F or I, an infant) and 7 numbers; the target is the number of rings, the
    age in years less 1.5. Old snails of the same weight differ by many years, young ones hardly:
    an interval should be as wide as that.

    W. J. Nash, T. L. Sellers and others, "The population biology of abalone in Tasmania", Sea
    Fisheries Division, Technical Report 48 (1994), from the UCI Machine Learning Repository;
    CC BY 4.0.

    Examples
    --------
    >>> from mercer.datasets import load_abalone
    >>> load_abalone().feature_names[:3], round(float(load_abalone().target.mean()), 3)
    (['sex', 'length', 'diameter'], 9.934)
    """


@_loads("mpg")
def load_auto_mpg() -> None:
    """Return the miles per gallon of cars (regression with a few missing cells).

    398 models of 1970 to 1982, 7 numbers; ``origin`` is a category (1 America, 2 Europe, 3 Japan).
    The power of six models is missing.

    R. Quinlan, "Combining instance-based and model-based learning", ICML 1993, from the StatLib
    library by way of the UCI Machine Learning Repository; CC BY 4.0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import load_auto_mpg
    >>> cars = load_auto_mpg()
    >>> cars.data.shape, int(np.isnan(cars.data).sum())
    ((398, 7), 6)
    """


@_loads("risk")
def load_german_credit() -> None:
    """Return credits and whether they were paid back (classification with words in columns).

    1,000 credits, 13 columns of words and 7 of numbers; 700 are good risks and 300 bad ones. Sex
    and nationality are among the columns: whoever decides about people must leave them out.

    H. Hofmann, "Statlog (German Credit Data)", 1994, from the UCI Machine Learning Repository;
    CC BY 4.0.

    Examples
    --------
    >>> from mercer.datasets import load_german_credit
    >>> X, y = load_german_credit(return_X_y=True)
    >>> X.shape, int((y == "good").sum())
    ((1000, 20), 700)
    >>> X[0, :3].tolist()
    ['<0', 6.0, 'critical/other existing credit']
    """


@_loads("party")
def load_house_votes() -> None:
    """Return votes of the U.S. House of Representatives in 1984 (classes, many missing cells).

    435 members, 16 votes: 1 yea, -1 nay, NaN where a member did not say; 392 cells are missing,
    and only 232 rows are complete. The target is the party.

    Congressional Quarterly Almanac, 98th Congress, 2nd session (1985), from the UCI Machine
    Learning Repository; CC BY 4.0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import load_house_votes
    >>> votes = load_house_votes()
    >>> int(np.isnan(votes.data).sum()), int((votes.target == "democrat").sum())
    (392, 267)
    """


@_loads("survived_5_years")
def load_haberman() -> None:
    """Return who survived five years after an operation of breast cancer (survival).

    306 patients operated at Billings Hospital, Chicago, from 1958 to 1969: their age, the year
    (less 1900) and the number of axillary nodes that were found positive. The target is 1 for the
    225 who lived at least five years. The time of death was not published: a survivor's time is
    known to be above five years, another's to be below (`mercer.CensoredRegressor`).

    S. J. Haberman, "Generalized residuals for log-linear models", 9th International Biometrics
    Conference (1976), from the UCI Machine Learning Repository; CC BY 4.0.

    Examples
    --------
    >>> from mercer.datasets import load_haberman
    >>> X, y = load_haberman(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((306, 3), 225)
    """


@_loads("elevation")
def load_elevation() -> None:
    """Return heights above the sea on a grid in Tennessee (space).

    86 x 101 places some 300 m apart, around Jacksboro and its fault: longitude and latitude in
    degrees, and the height in metres, from 247 to 1,067. Take some places to learn from: the
    others tell how well a map was made.

    U.S. Geological Survey, Shuttle Radar Topography Mission, every fourth row and column of the
    sample that Matplotlib distributes; public domain.

    Examples
    --------
    >>> from mercer.datasets import load_elevation
    >>> X, y = load_elevation(return_X_y=True)
    >>> X.shape, float(y.min()), float(y.max())
    ((8686, 2), 247.0, 1067.0)
    """


@_loads("passengers")
def load_air_passengers() -> None:
    """Return passengers of airlines from 1949 to 1960, in thousands a month (series).

    144 months; the swing of a year grows with the level.

    G. E. P. Box and G. M. Jenkins, "Time Series Analysis: Forecasting and Control" (1970), series
    G; public domain.

    Examples
    --------
    >>> from mercer.datasets import load_air_passengers
    >>> load_air_passengers().target[:3].tolist()
    [112.0, 118.0, 132.0]
    """


@_loads("co2", without=("date",))
def load_co2() -> None:
    """Return carbon dioxide in the air at Mauna Loa, each week from 1958 to 2001 (series).

    2,284 weeks: the year with its fraction, and parts of CO2 in a million of dry air; 59 weeks are
    missing (NaN). ``date`` has the days.

    C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography, by way of the Carbon Dioxide
    Information Analysis Center; public domain.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.datasets import load_co2
    >>> series = load_co2()
    >>> series.date[0], float(series.target[0]), int(np.isnan(series.target).sum())
    ('1958-03-29', 316.1, 59)
    """
