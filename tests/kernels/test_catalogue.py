"""The catalogue is complete, and what it says of a kernel is so."""

import inspect

import numpy as np
import pytest

from mercer import kernels
from mercer.kernels import Kernel, catalogue
from mercer.kernels.catalogue import rows
from mercer.kernels.named import resolve

ALGEBRA = {"ActiveDims", "Power", "Product", "Scaled", "Stretched", "Sum"}
CLASSES = {
    name: getattr(kernels, name)
    for name in kernels.__all__
    if inspect.isclass(getattr(kernels, name)) and issubclass(getattr(kernels, name), Kernel)
}


def test_every_kernel_has_one_entry():
    concrete = {name for name, k in CLASSES.items() if not inspect.isabstract(k)} - ALGEBRA
    listed = [entry.kernel.__name__ for entry in catalogue()]
    assert sorted(listed) == sorted(concrete)


def test_names_lead_to_their_kernels():
    named = [entry for entry in catalogue() if entry.name]
    assert len(named) == len({entry.name for entry in named}) >= 20
    for entry in named:
        assert type(resolve(entry.name, np.eye(2))) is entry.kernel


@pytest.mark.parametrize("row", rows(), ids=lambda row: type(row[0]).__name__)
def test_entries_say_what_the_kernel_says(row):
    kernel, formula, penalizes = row
    [entry] = [entry for entry in catalogue() if entry.kernel is type(kernel)]
    assert (entry.formula, entry.penalizes) == (formula, penalizes)
    assert entry.domain == kernel.domain
    assert entry.order == kernel.order
    assert entry.compact == (kernel.support is not None)
    if entry.spectrum == "discrete":
        assert np.isfinite(kernel.coefficients(np.arange(3))).all()
    elif not entry.spectrum and kernel.numeric:
        with pytest.raises(NotImplementedError):
            kernel.spectrum(np.ones(1))


def test_it_prints_two_lines_for_each():
    lines = str(catalogue()).splitlines()
    assert len(lines) == 2 * len(catalogue())
    assert lines[0] == "Gaussian             exp(-|u/l|^2 / 2)                        rbf"
    assert lines[1].startswith(
        "    R^d, order 0, continuous spectrum; penalizes derivatives of all"
    )
    assert max(map(len, lines)) <= 120
