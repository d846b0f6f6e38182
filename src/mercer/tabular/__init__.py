"""Tables as they are: kernels learned from the data, stacked by left-out predictions."""

from mercer.tabular.classifier import AutoClassifier
from mercer.tabular.explanation import Effect, Explanation
from mercer.tabular.regressor import AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor", "Effect", "Explanation"]
