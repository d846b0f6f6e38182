"""Failures that are known, by number of the case, and whose they are to mend; at best none."""

KNOWN: dict[int, str] = {
    194: "KernelCDF: densities of several features are refused by score_samples, not by fit",
    1232: "RBFNetwork: targets of words end in an error of NumPy",
    1298: "LpMarginSVC: subnormal inputs overflow in the cost of a linear program",
    1560: "NuSparseRegressor: a gap of 1e-214 beside an objective of 0 counts as converged",
}
