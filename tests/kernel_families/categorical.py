"""Categories."""

from mercer.kernels import Categorical, Gaussian, Kernel

KERNELS: list[Kernel] = [Categorical(), Gaussian(0.7).on([0, 2]) + 0.5 * Categorical().on([1])]
