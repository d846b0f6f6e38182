"""Failures that are known, by number of the case, and whose they are to mend; at best none."""

KNOWN: dict[int, str] = {}
