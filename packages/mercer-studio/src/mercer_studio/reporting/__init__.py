"""Reports of fitted models: one self-contained web page; they need matplotlib."""

from mercer_studio.reporting.compose import Report, report

__all__ = ["Report", "report"]
