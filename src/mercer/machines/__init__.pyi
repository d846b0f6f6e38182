"""The names of the room: read by type checkers, and when one of them is first used."""

from mercer._settings import KW_ONLY as KW_ONLY
from mercer._settings import settings as settings
from mercer._sklearn import Interval as Interval
from mercer._sklearn import StrOptions as StrOptions
from mercer.machines.base import KernelMachine as KernelMachine
from mercer.machines.one_vs_one import PairwiseClassifier as PairwiseClassifier
from mercer.machines.one_vs_rest import OneVsRest as OneVsRest
from mercer.machines.regression import Regression as Regression
from mercer.machines.subproblems import Coefficients as Coefficients
from mercer.machines.subproblems import Rows as Rows
from mercer.machines.subproblems import Sample as Sample
from mercer.machines.subproblems import Subproblem as Subproblem
from mercer.machines.subproblems import prepare as prepare
