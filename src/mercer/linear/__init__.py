"""Linear models beside the kernel machines: the relatives that scikit-learn lacks."""

from mercer.linear._model import Optimum
from mercer.linear.least_squares import LeastSquaresFit, least_squares
from mercer.linear.location import Location, location
from mercer.linear.nadaraya_watson import NadarayaWatson
from mercer.linear.norms import NormRegression, robust_scale

__all__ = [
    "LeastSquaresFit",
    "Location",
    "NadarayaWatson",
    "NormRegression",
    "Optimum",
    "least_squares",
    "location",
    "robust_scale",
]
