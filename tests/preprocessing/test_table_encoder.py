"""Frames become numbers and codes: each rule against the plain statement of it."""

import datetime
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import OrdinalEncoder

import mercer.data
from installed import SKLEARN
from mercer.data import DataError, as_source
from mercer.preprocessing import DateEncoder, TableEncoder
from mercer.preprocessing._columns import summarized

RNG = np.random.default_rng(3)
N = 300
NUMBERS = RNG.normal(size=N)
FRAME = pd.DataFrame(
    {
        "x": NUMBERS,
        "holes": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.normal(size=N)),
        "few": np.where(np.arange(N) == 5, np.nan, RNG.normal(size=N)),
        "colour": RNG.choice(["red", "green", "blue"], N),
        "flag": RNG.uniform(size=N) < 0.5,
        "again": NUMBERS,
        "same": np.full(N, 2.5),
        "word": ["w"] * N,
        "nothing": np.full(N, np.nan),
        "id": [f"row {i}" for i in range(N)],
        "count": RNG.integers(0, 50, N),
    }
)
FRAME.loc[::7, "colour"] = None
KEPT = ["x", "holes", "few", "colour", "flag", "count", "holes_missing"]


def expected():
    """Return the same matrix by pandas and scikit-learn."""
    parts = FRAME[["x", "holes", "few"]].fillna(FRAME[["x", "holes", "few"]].median())
    codes = OrdinalEncoder().fit_transform(FRAME[["colour"]].fillna("zzz"))
    others = FRAME[["flag", "count"]].to_numpy(dtype=float)
    marks = FRAME[["holes"]].isna().to_numpy(dtype=float)
    return np.concatenate([parts.to_numpy(), codes, others, marks], axis=1)


def arrow(frame):
    return pa.table({name: pa.array(frame[name], from_pandas=True) for name in frame.columns})


FORMS = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "polars": pl.from_pandas,
    "arrow": arrow,
    "mercer": lambda frame: next(as_source(frame).blocks(N)).X,
    "source": as_source,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_frame_gives_the_same_matrix(form):
    data = FORMS[form](FRAME)
    encoder = TableEncoder().fit(data)
    assert encoder.names_ == encoder.get_feature_names_out().tolist() == KEPT
    found = encoder.transform(data)
    if form == "source":
        found = np.concatenate([block.X for block in found.blocks(64)])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected())
    assert encoder.categorical_.tolist() == [3]
    assert encoder.numeric_.tolist() == [0, 1, 2, 4, 5, 6]
    assert encoder.missing_.tolist() == [6]
    assert encoder.kept_.tolist() == [0, 1, 2, 3, 4, 10, 1]
    assert encoder.categories_ == [["blue", "green", "red", None]]
    assert encoder.dropped_ == {
        "again": "equals 'x'",
        "same": "has one value: 2.5",
        "word": "has one value: 'w'",
        "nothing": "has no values",
        "id": "has 300 categories, none of which is frequent",
    }


def test_neither_order_nor_blocks_matter(tmp_path, monkeypatch):
    order = RNG.permutation(N)
    ours, shuffled = TableEncoder().fit(FRAME), TableEncoder().fit(FRAME.iloc[order])
    np.testing.assert_array_equal(shuffled.transform(FRAME), ours.transform(FRAME))
    table = arrow(FRAME.drop(columns="nothing"))
    for k in range(3):
        pq.write_table(table.slice(k * 100, 100), tmp_path / f"{k}.parquet", row_group_size=40)
    monkeypatch.setattr("mercer.preprocessing.base.BLOCK_NUMBERS", 1)  # blocks of 64 rows
    files = TableEncoder().fit(mercer.data.open(tmp_path))
    assert files.names_ == KEPT
    np.testing.assert_array_equal(files.transform(table), ours.transform(FRAME))


def test_categories_met_later():
    encoder = TableEncoder().fit(FRAME[["colour", "x"]])
    new = pd.DataFrame({"colour": ["pink", "red", None, "grey"], "x": [0.0, np.nan, 1.0, 2.0]})
    found = encoder.transform(new)
    assert found[:, 0].tolist() == [-1, 2, 3, -1]
    assert found[1, 1] == np.median(NUMBERS)
    whole = TableEncoder().fit(FRAME[["colour"]].dropna())
    assert whole.transform(pd.DataFrame({"colour": [None, "red"]}))[:, 0].tolist() == [-1, 2]


def test_rare_categories_share_a_code():
    """Of counts 9, 7, 7, 2, 1 and four codes, one of them missing: 9 alone, the rest shared."""
    words = ["a"] * 9 + ["b"] * 7 + ["c"] * 7 + ["d"] * 2 + ["e"] + [None] * 10
    frame = pd.DataFrame({"w": words})
    encoder = TableEncoder(max_categories=4).fit(frame)
    assert encoder.categories_ == [["a", None]]
    assert encoder.infrequent_ == [["b", "c", "d", "e"]]
    codes = encoder.transform(pd.DataFrame({"w": ["a", None, "b", "e", "never met"]}))
    assert codes[:, 0].tolist() == [0, 1, 2, 2, 2]
    five = TableEncoder(max_categories=5).fit(frame)
    assert five.categories_ == [["a", "b", "c", None]]
    assert TableEncoder(max_categories=6).fit(frame).infrequent_ == [[]]
    # At most a third of the rows, and ten in any case.
    assert len(TableEncoder().fit([[w] for w in "abcdefghij"]).categories_[0]) == 10
    assert TableEncoder().fit([[w] for w in "abcdefghijk"]).infrequent_ == [list("abcdefghijk")]


def test_missing_cells_are_marked_from_a_share_on():
    X = RNG.normal(size=(200, 3))
    X[:2, 0] = np.nan
    X[:1, 1] = np.nan
    assert TableEncoder().fit(X).names_ == ["x0", "x1", "x2", "x0_missing"]
    assert TableEncoder(min_missing=0.02).fit(X).names_ == ["x0", "x1", "x2"]
    assert len(TableEncoder(min_missing=0.0).fit(X).missing_) == 2
    # Marks that equal another column or another mark are left out.
    X[:2, 2] = np.nan
    flags = np.column_stack([X, np.arange(200) < 1])
    encoder = TableEncoder(min_missing=0.0).fit(flags)
    assert encoder.names_ == ["x0", "x1", "x2", "x3", "x0_missing"]
    assert encoder.dropped_ == {}
    # A mark does not take the name of another column.
    frame = pd.DataFrame({"x": [np.nan, 1.0, 2.0], "x_missing": [3.0, 2.0, 1.0]})
    assert TableEncoder().fit(frame).names_ == ["x", "x_missing", "x_missing_"]
    # A column with one number and gaps leaves its mark.
    encoder = TableEncoder().fit([[1.0], [np.nan], [1.0]])
    assert encoder.names_ == ["x0_missing"]
    assert encoder.transform([[np.nan], [4.0]]).tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize(
    "given",
    [[False, True, False], np.array([1]), ["b"], ("b",)],
    ids=["mask", "number", "name", "tuple"],
)
def test_numbers_can_be_categories(given):
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [30.0, np.nan, 7.0], "c": [5, 6, 9]})
    encoder = TableEncoder(given).fit(frame)
    assert encoder.categorical_.tolist() == [1]
    assert encoder.categories_ == [[7.0, 30.0, None]]
    assert encoder.transform(frame)[:, 1].tolist() == [1, 2, 0]
    # Words are categories in any case.
    assert TableEncoder(given).fit(frame.assign(c=["u", "v", "u"])).categorical_.tolist() == [1, 2]


def test_the_categorical_type_of_pandas_is_read():
    frame = pd.DataFrame({"k": pd.Categorical([10, 3, 10, None]), "x": [1.0, 2.0, 3.0, 4.0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.categories_ == [[3, 10, None]]
    assert encoder.transform(frame)[:, 0].tolist() == [1, 0, 1, 2]
    numbers = TableEncoder(None).fit(frame)
    assert numbers.categorical_.tolist() == []
    assert numbers.transform(frame)[:, 0].tolist() == [10, 3, 10, 10]
    for wrong, said in [(["z"], "there is no column 'z'"), ([True], "a mask of 1 entries for 2")]:
        with pytest.raises(ValueError, match=said):
            TableEncoder(wrong).fit(frame)


def test_objects_that_are_numbers_are_numbers():
    frame = pd.DataFrame(
        {
            "n": pd.Series([1, 2.5, None, Decimal("4.5")], dtype=object),
            "b": pd.Series([True, None, False, True], dtype=object),
            "m": pd.Series([1, "one", None, pd.NA], dtype=object),
        }
    )
    for data in (frame, frame.to_numpy()):
        encoder = TableEncoder(min_missing=1.0).fit(data)
        assert encoder.categorical_.tolist() == [2]
        found = encoder.transform(data)
        assert found.tolist() == [[1, 1, 0], [2.5, 1, 1], [2.5, 0, 2], [4.5, 1, 2]]


WHEN = pd.to_datetime(["2020-01-01", "2021-06-01"])
REFUSED = {
    "spans": (pd.DataFrame({"when": WHEN - WHEN[0]}), r"'when' holds timedelta64.*total_seconds"),
    "span array": ((WHEN - WHEN[0]).to_numpy()[:, None], "holds timedelta64.*seconds"),
    "clock": (pa.table({"when": [datetime.time(3)]}), "'when' holds time64.*time of day"),
    "periods": (pd.DataFrame({"when": WHEN.to_period("M")}), r"'when' holds period.*to_timestamp"),
    "clocks": (pd.DataFrame({"when": [datetime.time(3)]}), "'when' holds time objects"),
    "lists": (pd.DataFrame({"bag": [[1], [2]]}), "'bag' holds values of type list, which is"),
    "polars lists": (pl.DataFrame({"bag": [[1], [2]]}), "'bag' holds List.*neither numbers nor"),
    "complex": (pd.DataFrame({"z": [1j, 2.0]}), "'z' holds complex128, which is neither"),
    "infinite": (pd.DataFrame({"a": [1.0, np.inf]}), "'a' of X contains infinity"),
    "infinite array": (np.array([[1.0], [-np.inf]]), "'x0' of X contains infinity"),
    "huge": (
        pd.DataFrame({"a": pd.Series([1, 10**400], dtype=object)}),
        "'a' of X contains infinity",
    ),
    "empty": (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_sentence_names_the_column_that_is_refused(case):
    data, said = REFUSED[case]
    with pytest.raises(ValueError, match=said):
        TableEncoder().fit(data)


def test_what_is_not_a_table_of_the_fit_is_refused():
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(DataError, match="'x' held numbers in the fit; it holds words now"):
        encoder.transform(FRAME.assign(x="one"))
    with pytest.raises(DataError, match="'x' of X contains infinity"):
        encoder.transform(FRAME.assign(x=np.inf))
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(FRAME[FRAME.columns[::-1]])
    with pytest.raises(DataError, match="dense columns"):
        TableEncoder().fit(as_source(sp.eye_array(3, format="csr")))
    blocks = [np.zeros((64, 1)), np.full((64, 1), "u", dtype=object)]
    with pytest.raises(DataError, match="'x0' holds numbers in some blocks and words"):
        as_source(blocks).total(summarized, ((), ("x0",)), rows=64)


def test_a_table_that_says_nothing_keeps_a_column():
    frame = pd.DataFrame({"a": [None, None], "b": ["u", "u"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.dropped_ == {"b": "has one value: 'u'"}
    assert encoder.transform(frame).tolist() == [[0.0], [0.0]]


def test_frames_come_out_where_they_are_asked_for():
    frame = TableEncoder().set_output(transform="pandas").fit_transform(FRAME)
    assert list(frame.columns) == KEPT


DAYS = pd.date_range("2020-01-01", periods=60)
DATED = {
    "typed": DAYS,
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "zone": DAYS.tz_localize("UTC"),
    "another zone": DAYS.tz_localize("UTC").tz_convert("Asia/Tokyo"),
    "Arrow": pd.Series(DAYS).astype(pd.ArrowDtype(pa.timestamp("us"))),
    "Arrow with a zone": pd.Series(DAYS.tz_localize("UTC")).astype(
        pd.ArrowDtype(pa.timestamp("us", "UTC"))
    ),
    "days of Arrow": pd.Series(DAYS.date).astype(pd.ArrowDtype(pa.date32())),
    "days": pd.Series(list(DAYS.date), dtype=object),
    "times": pd.Series(list(DAYS.tz_localize("UTC").to_pydatetime()), dtype=object),
    "iso": DAYS.strftime("%Y-%m-%d"),
    "iso with time": DAYS.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "points": DAYS.strftime("%d.%m.%Y"),
    "month first": DAYS.strftime("%m/%d/%Y"),
    "day first": DAYS.strftime("%d/%m/%Y"),
}


@pytest.mark.parametrize("form", DATED)
def test_dates_are_encoded_alike_however_they_are_written(form):
    """Days by hand, circles by DateEncoder; the same for sources, polars and Arrow."""
    frame = pd.DataFrame({"x": np.arange(60.0) % 7, "d": DATED[form]})
    encoder = TableEncoder().fit(frame)
    assert encoder.names_ == ["x", "d_days", "d_week_cos", "d_week_sin"]
    assert encoder.kept_.tolist() == [0, 1, 1, 1]
    expected = DateEncoder().fit_transform(DAYS.to_numpy()[:, None])
    np.testing.assert_array_equal(encoder.transform(frame)[:, 1:], expected)
    np.testing.assert_array_equal(expected[:, 0], 18262 + np.arange(60.0))
    for other in (pl.from_pandas(frame), arrow(frame)):
        np.testing.assert_array_equal(TableEncoder().fit_transform(other)[:, 1:], expected)
    frame.loc[4, "d"] = None
    found = TableEncoder().fit_transform(frame)
    np.testing.assert_array_equal(np.delete(found[:, 1:4], 4, axis=0), np.delete(expected, 4, 0))
    assert found[4, 4] == 1.0
    frame.loc[4, "d"] = frame.loc[3, "d"]
    if frame["d"].dtype.kind not in "MO":  # words of a source, in several blocks
        source = as_source(frame)
        found = TableEncoder().fit(source).transform(source)
        np.testing.assert_array_equal(
            np.concatenate([b.X for b in found.blocks(7)])[:, 1:], expected
        )


def test_a_missing_date_is_filled_and_marked():
    frame = pd.DataFrame({"d": [*DAYS[:30].strftime("%d.%m.%Y"), None, "soon"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.names_ == ["d_days", "d_week_cos", "d_week_sin", "d_days_missing"]
    found = encoder.transform(frame)
    assert found[-2:, 0].tolist() == [np.median(18262 + np.arange(30.0))] * 2
    assert found[:, 3].tolist() == [0.0] * 30 + [1.0] * 2
    assert any("('soon') is taken as missing" in note for note in encoder.notes_)
    with pytest.raises(DataError, match="'d' held dates in the fit; it holds numbers now"):
        encoder.transform(pd.DataFrame({"d": [1.0]}))
    one = TableEncoder().fit(pd.DataFrame({"d": DAYS[:1].repeat(4), "x": [1.0, 2.0, 3.0, 4.0]}))
    assert one.dropped_ == {"d": "has one value: 2020-01-01"}


def words(*cells, n=60):
    return [cells[i % len(cells)] for i in range(n)]


READ = {
    "decimal comma": (words("1,25", "12,5", "3"), "comma", [1.25, 12.5, 3.0]),
    "thousands": (words("12,345", "1,234,567", "12"), "point", [12345.0, 1234567.0, 12.0]),
    "thousands and comma": (words("1.234,5", "12", "0,5"), "comma", [1234.5, 12.0, 0.5]),
    "spaces": (words("12 345", "1 000 000", "7"), "point", [12345.0, 1e6, 7.0]),
    "three decimals": (words("1,234", "0,987", "12,500"), "comma", [1.234, 0.987, 12.5]),
    "currency": (words("EUR 12.3", "EUR 7", "-EUR 2.5"), "point", [12.3, 7.0, -2.5]),
    "dollar": (words("$5", "$1,200.50", "-$3"), "point", [5.0, 1200.5, -3.0]),
    "euro behind": (words("5,99 €", "12 €", "1.000,00 €"), "comma", [5.99, 12.0, 1000.0]),
    "percent": (words("12.5 %", "3%", "100%"), "point", [12.5, 3.0, 100.0]),
    "gaps": (words("1.5", "n/a", "-"), "point", None),
    "answers": (words("Yes", "no", "YES"), "truth", [1.0, 0.0, 1.0]),
}


@pytest.mark.parametrize("case", READ)
def test_words_that_are_numbers_are_read(case):
    cells, form, expected = READ[case]
    frame = pd.DataFrame({"w": cells, "x": np.arange(60.0)})
    if expected is None:  # two of three cells are missing: too many for a column of numbers
        assert TableEncoder().fit(frame).readings_ == {}
        return
    encoder = TableEncoder().fit(frame)
    assert encoder.readings_ == {"w": form}
    assert encoder.notes_
    assert encoder.transform(frame)[:3, 0].tolist() == expected
    # A new cell that cannot be read is a missing cell.
    new = encoder.transform(pd.DataFrame({"w": ["what", None], "x": [0.0, 0.0]}))
    assert new[:, 0].tolist() == [np.median(expected)] * 2


WORDS = {
    "plain numbers as words": words("1", "2", "3"),
    "codes with zeros": words("0012", "1234", "12,5"),
    "a category beside numbers": words("0", "1", "2", "3+"),
    "two currencies": words("$5", "EUR 7", "$3"),
    "one spelling of yes": words("yes", "no"),
    "words": words("a1", "b2", "c"),
}


@pytest.mark.parametrize("case", WORDS)
def test_words_stay_words(case):
    encoder = TableEncoder().fit(pd.DataFrame({"w": WORDS[case]}))
    assert encoder.readings_ == {}
    assert encoder.categories_ == [sorted(set(WORDS[case]))]


def test_asking_for_categories_keeps_words():
    frame = pd.DataFrame({"w": words("1,25", "12,5"), "c": pd.Categorical(words("1,5", "2,5"))})
    assert TableEncoder().fit(frame).readings_ == {"w": "comma"}
    assert TableEncoder(["w", "c"]).fit(frame).readings_ == {}


def test_a_slip_is_a_missing_cell_and_is_counted():
    frame = pd.DataFrame({"w": ["oops", *map(str, np.arange(1.0, 60.0))]})
    encoder = TableEncoder().fit(frame)
    assert encoder.notes_ == ["Column 'w': 1 cell that is no number ('oops') is taken as missing."]
    assert encoder.transform(frame)[:2].tolist() == [[30.0, 1.0], [1.0, 0.0]]
    # In a column of numbers of the fit, too.
    whole = TableEncoder().fit(pd.DataFrame({"w": np.arange(1.0, 60.0)}))
    assert whole.transform(frame)[:2].tolist() == [[30.0], [1.0]]


def test_other_columns_decide_where_a_column_leaves_it_open():
    """12,345 is a number of thousands unless another column has decimal commas."""
    many = words("12,345", "1,234")
    alone = TableEncoder().fit(pd.DataFrame({"w": many}))
    assert alone.readings_ == {"w": "point"}
    assert "nothing in the column tells" in alone.notes_[1]
    beside = TableEncoder().fit(pd.DataFrame({"w": many, "v": words("1,5", "2,25")}))
    assert beside.readings_ == {"w": "comma", "v": "comma"}
    early = [f"{k % 12 + 1:02d}/{k % 7 + 1:02d}/2021" for k in range(60)]
    alone = TableEncoder().fit(pd.DataFrame({"w": early}))
    assert alone.readings_ == {"w": "mdy"}
    assert "the day and the month could be exchanged" in alone.notes_[1]
    late = DAYS.strftime("%d/%m/%Y")
    assert TableEncoder().fit(pd.DataFrame({"w": early, "v": late})).readings_["w"] == "dmy"


def test_a_first_column_that_numbers_the_rows_is_left_out():
    frame = pd.DataFrame({"x": RNG.normal(size=20), "k": np.arange(20) % 3})
    for name in ("", "Unnamed: 0"):
        encoder = TableEncoder().fit(pd.concat([pd.Series(range(20), name=name), frame], axis=1))
        assert encoder.dropped_ == {name: "has no name and numbers the rows"}
    named = TableEncoder().fit(pd.concat([pd.Series(range(20), name="n"), frame], axis=1))
    assert named.dropped_ == {}
    assert TableEncoder().fit(frame.rename(columns={"k": ""})).dropped_ == {}


def test_columns_without_words_for_names_are_read():
    frame = pd.DataFrame({0: DAYS, 1: words("1,5", "2,25"), 2: np.arange(60.0)})
    encoder = TableEncoder().fit(frame)
    assert encoder.readings_ == {"x0": "typed", "x1": "comma"}
    assert encoder.transform(frame).shape == (60, 5)
    assert encoder.get_feature_names_out(["d", "w", "n"]).tolist() == [
        *("d_days", "d_week_cos", "d_week_sin"), "w", "n",
    ]  # fmt: skip


@pytest.mark.skipif(SKLEARN < (1, 9), reason="older scikit-learn asks pandas if it is there")
def test_pandas_is_not_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)  # whoever imports it meets an ImportError
    frame = pl.DataFrame({"x": [1.0, None, 3.0], "w": ["a", "b", None]})
    found = TableEncoder().fit_transform(frame)
    assert found.tolist() == [[1.0, 0.0, 0.0], [2.0, 1.0, 1.0], [3.0, 2.0, 0.0]]


GRADES = pd.CategoricalDtype(["low", "medium", "high"], ordered=True)


def test_ordered_labels_become_ranks_in_their_order():
    words = ["high", "low", None, "medium", "low", "high"] * 5
    frame = pd.DataFrame({"grade": pd.Series(words, dtype=GRADES), "x": np.arange(30.0)})
    encoder = TableEncoder().fit(frame)
    # As the codes of pandas are, with the median in place of its -1.
    codes = frame["grade"].cat.codes.to_numpy(dtype=float)
    middle = np.median(codes[codes >= 0])
    found = encoder.transform(frame)
    np.testing.assert_array_equal(found[:, 0], np.where(codes < 0, middle, codes))
    np.testing.assert_array_equal(found[:, 2], codes < 0)
    assert encoder.names_ == ["grade", "x", "grade_missing"]
    assert encoder.categorical_.tolist() == []
    assert encoder.orders_ == {"grade": ["low", "medium", "high"]}
    assert encoder.notes_ == [
        "Column 'grade': its labels become numbers in their order, low < medium < high."
    ]
    # The order is that of the fit, whatever type new rows have; other labels are missing.
    new = pd.DataFrame({"grade": ["medium", "best", "high"], "x": 0.0})
    turned = pd.CategoricalDtype(["high", "medium", "best"], ordered=True)
    for rows in (new, new.astype({"grade": turned})):
        assert encoder.transform(rows)[:, 0].tolist() == [1.0, middle, 2.0]
    renamed = encoder.get_feature_names_out(["grade", "x"]).tolist()
    assert renamed == encoder.names_


def test_the_order_of_intervals_is_kept():
    x = np.linspace(0.0, 1.0, 40)
    frame = pd.DataFrame({"age": pd.cut(x, 4), "x": x})
    encoder = TableEncoder().fit(frame)
    expected = np.repeat([0.0, 1.0, 2.0, 3.0], 10)
    np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected)
    assert "< ... <" not in encoder.notes_[0]
    many = TableEncoder().fit(pd.DataFrame({"age": pd.cut(x, 9), "x": x}))
    assert "< ... <" in many.notes_[0]


@pytest.mark.parametrize("asked", [["grade"], None])
def test_ordered_labels_are_compared_by_equality_if_asked(asked):
    frame = pd.DataFrame({"grade": pd.Series(["high", "low"] * 6, dtype=GRADES), "x": range(12)})
    encoder = TableEncoder(categorical_features=asked).fit(frame)
    assert encoder.categorical_.tolist() == [0]
    assert encoder.categories_ == [["high", "low"]]
    assert encoder.orders_ == {}


def texts(n, repeated):
    """Return n texts of five words, some of which are the same."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(500)])
    found = [" ".join(rng.choice(words, 5)) for _ in range(n)]
    return found[: n - repeated] + ["nothing to report this time"] * repeated


def test_free_text_is_left_out_with_a_sentence():
    n = 90
    frame = pd.DataFrame({"x": np.arange(n) ** 2.0, "remark": texts(n, 20)})
    frame.loc[::9, "remark"] = None
    encoder = TableEncoder().fit(frame)
    different = frame["remark"].nunique()
    assert encoder.names_ == ["x"]
    assert encoder.dropped_ == {
        "remark": f"holds free text: {different} different texts in 80 cells"
    }
    assert "TfidfVectorizer" in encoder.notes_[0]
    np.testing.assert_array_equal(encoder.transform(frame), frame[["x"]])


LABELS = {
    "half of the cells differ": texts(90, 46),
    "two words": [f"{a} {b}" for a, b in zip(texts(90, 20), range(90), strict=True)],
    "few": texts(9, 0) * 10,
}
LABELS["two words"] = [" ".join(text.split()[::4]) for text in LABELS["two words"]]


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_some_words_are_no_text(case):
    frame = pd.DataFrame({"x": np.arange(90) ** 2.0, "label": LABELS[case]})
    encoder = TableEncoder().fit(frame)
    assert not any("free text" in why for why in encoder.dropped_.values())


def test_categories_that_are_asked_for_are_no_text():
    frame = pd.DataFrame({"x": np.arange(90) ** 2.0, "remark": texts(90, 20)})
    for encoder, X in (
        (TableEncoder(), frame.astype({"remark": "category"})),
        (TableEncoder(categorical_features=["remark"]), frame),
    ):
        assert encoder.fit(X).names_ == ["x", "remark"]
