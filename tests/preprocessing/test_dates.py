"""Dates as numbers: days and phases by hand, periods that a column has, gaps."""

import datetime

import numpy as np
import pandas as pd
import pytest

from mercer.preprocessing import DateEncoder


def test_days_and_phases_are_those_of_the_calendar():
    days = pd.date_range("2020-01-01", "2023-12-31", freq="7h")
    encoder = DateEncoder().fit(pd.DataFrame({"t": days}))
    found = pd.DataFrame(
        encoder.transform(pd.DataFrame({"t": days})), columns=encoder.get_feature_names_out()
    )
    assert encoder.periods_ == [["day", "week", "year"]]
    since = (days - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    np.testing.assert_allclose(found["t_days"], since, rtol=0, atol=1e-9)
    hours = days.hour + days.minute / 60.0
    np.testing.assert_allclose(found["t_day_cos"], np.cos(2 * np.pi * hours / 24), atol=1e-9)
    np.testing.assert_allclose(found["t_day_sin"], np.sin(2 * np.pi * hours / 24), atol=1e-9)
    week = days.day_of_week + hours / 24.0
    np.testing.assert_allclose(found["t_week_sin"], np.sin(2 * np.pi * week / 7), atol=1e-9)
    # Leap days move the phase of the calendar by less than a day.
    year = np.array([(t - datetime.datetime(t.year, 1, 1)).total_seconds() for t in days]) / 86400
    exact = np.cos(2 * np.pi * year / 365.2425)
    assert np.max(np.abs(found["t_year_cos"] - exact)) < 2 * np.pi / 365.2425 * 1.25


@pytest.mark.parametrize(
    ("start", "freq", "n", "periods"),
    [
        ("2020-01-01", "D", 10, []),
        ("2020-01-01", "D", 20, ["week"]),
        ("2020-01-01", "D", 800, ["week", "year"]),
        ("2020-01-06", "7D", 200, ["year"]),
        ("2020-01-01 06:00", "h", 60, ["day"]),
        ("2020-01-01", "YS", 40, ["week"]),
    ],
)
def test_a_column_has_the_periods_that_it_stretches_over(start, freq, n, periods):
    days = pd.date_range(start, periods=n, freq=freq)
    assert DateEncoder().fit(pd.DataFrame({"t": days})).periods_ == [periods]


def test_words_objects_numbers_and_frames_agree():
    days = np.arange("2023-01-01", "2023-03-01", dtype="datetime64[D]")
    encoder = DateEncoder().fit(days[:, None])
    expected = encoder.transform(days[:, None])
    words = days.astype(str)[:, None]
    objects = days.astype(object)[:, None]
    for other in (words, words.astype(object), objects, days.astype(int)[:, None].astype(float)):
        np.testing.assert_array_equal(encoder.transform(other), expected)
    zoned = pd.DataFrame({"t": pd.to_datetime(days).tz_localize("UTC")})
    np.testing.assert_array_equal(DateEncoder().fit_transform(zoned), expected)


def test_gaps_are_gaps():
    days = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=30)})
    days.loc[4, "t"] = pd.NaT
    found = DateEncoder().fit_transform(days)
    assert np.isnan(found[4]).all()
    assert not np.isnan(np.delete(found, 4, axis=0)).any()


def test_unknown_periods_are_refused():
    with pytest.raises(ValueError, match="periods are among"):
        DateEncoder(("month",)).fit(np.zeros((3, 1)))


def test_words_that_are_no_dates_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="'t' holds 'soon' in row 2, which is not a date such as"):
        DateEncoder().fit(pd.DataFrame({"t": ["2020-01-01", "soon"]}))
    with pytest.raises(ValueError, match="'x0' holds 'b' in row 1"):
        DateEncoder().fit([["b"], ["c"]])


def test_the_column_decides_the_order_of_day_and_month():
    days = pd.date_range("2020-01-01", periods=40)
    expected = DateEncoder().fit_transform(days.to_numpy()[:, None])
    for form in ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d"):
        encoder = DateEncoder().fit(pd.DataFrame({"t": days.strftime(form)}))
        found = encoder.transform(pd.DataFrame({"t": days.strftime(form)}))
        np.testing.assert_array_equal(found, expected)


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match="at least one column"):
        DateEncoder().fit(pd.DataFrame(index=range(5)))
