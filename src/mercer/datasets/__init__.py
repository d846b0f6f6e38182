"""Real data: small sets that come with the library, and others that are fetched and kept.

``load_*`` reads what is installed. ``fetch`` looks into the folder that the environment variable
``MERCER_DATA`` names and, where there is none, downloads a set from its public address once.
"""

from mercer.datasets.download import DownloadError, download
from mercer.datasets.fetching import describe, fetch, names
from mercer.datasets.folder import data_home
from mercer.datasets.shipped import (
    load_abalone,
    load_air_passengers,
    load_auto_mpg,
    load_co2,
    load_concrete,
    load_elevation,
    load_german_credit,
    load_haberman,
    load_house_votes,
)

__all__ = [
    "DownloadError",
    "data_home",
    "describe",
    "download",
    "fetch",
    "load_abalone",
    "load_air_passengers",
    "load_auto_mpg",
    "load_co2",
    "load_concrete",
    "load_elevation",
    "load_german_credit",
    "load_haberman",
    "load_house_votes",
    "names",
]
