"""The scikit-learn face: machines as declarations of loss, kernel, null space and solver.

Modules are imported when one of their names is first used; ``__init__.pyi`` lists them.
"""

from mercer._lazily import exports_of_stub

__all__, __getattr__, __dir__ = exports_of_stub(__name__, __file__)
