"""Parts of the sample with a machine each: the tree that makes them, and how it is asked for.

Exports
-------
Local : leaves of some thousand rows, an exact machine in each
Tree : balanced cuts in the metric of a kernel, and which leaf a point belongs to
grow : a tree from a sample
graft : a tree whose leaves become trees
equality_columns : features that a kernel compares by equality
sensitivity : how far a kernel sees apart what differs in one feature
"""

from mercer.local.settings import Local

__all__ = [
    "Local",
]
