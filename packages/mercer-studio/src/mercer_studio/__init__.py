"""Mercer's application: the command line, reports of fitted models, the studio in the browser."""

from mercer._lazily import lazily
from mercer._version import __version__
from mercer_studio.browser import app

report = lazily("mercer_studio.reporting", "report")

__all__ = ["__version__", "app", "report"]
