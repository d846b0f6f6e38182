"""Powers of the distance."""

from mercer.kernels import Kernel, Polyharmonic, ThinPlate

KERNELS: list[Kernel] = [
    Polyharmonic(),
    Polyharmonic(1),
    Polyharmonic(0.4),
    Polyharmonic(1.5),
    Polyharmonic(3),
    Polyharmonic(4),
    ThinPlate(),
    ThinPlate(order=3),
]
