"""Numbers that compiled loops over kernel values share with their callers."""

import numpy as np

__all__ = ["LOWEST", "LOWEST_DOUBLE", "RUN"]

# Columns whose products with coefficients are summed apart: the same in a tile of any width, so
# that the sum of a row does not depend on how many rows came with it.
RUN = 256

# Below, 2^t is subnormal, and the exponent's bits no longer make it: it becomes zero.
LOWEST = np.float32(-125.9)
LOWEST_DOUBLE = -1021.9
