"""Download sets ahead: ``python -m mercer.datasets [NAME ...] [--folder FOLDER]``."""

from __future__ import annotations

import argparse
import sys

from mercer.datasets import fetching
from mercer.datasets.download import DownloadError
from mercer.datasets.folder import Folder, data_home

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Fetch sets, all that have an address by default, and say which could not be had.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the command line by default.

    Returns
    -------
    int
        1 if a set could not be had.
    """
    parser = argparse.ArgumentParser(prog="python -m mercer.datasets", description=__doc__)
    parser.add_argument("names", nargs="*", help="sets; all that have an address by default")
    parser.add_argument("--folder", help="where to keep them, by default where fetch looks")
    options = parser.parse_args(arguments)
    lost = []
    for name in options.names or fetching.addresses():
        try:
            found = fetching.fetch(name, data_home=options.folder)
            print(f"{name}: {len(found.data):,} rows", flush=True)
        except (DownloadError, ValueError) as error:
            lost.append(name)
            print(f"{name}: {error}", file=sys.stderr, flush=True)
    kept = len(Folder(data_home(options.folder)).entries)
    print(f"{kept} sets in {data_home(options.folder)}")
    if lost:
        print(f"could not be had: {', '.join(lost)}", file=sys.stderr)
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
