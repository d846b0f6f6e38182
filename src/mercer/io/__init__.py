"""Models that travel: files that run nothing when they are read, ONNX, and LIBSVM's format."""

from mercer.io.errors import CannotConvert, ModelFileError
from mercer.io.exporting import to_onnx
from mercer.io.files import ModelFile, describe, digest, load, save
from mercer.io.libsvm import read_libsvm, write_libsvm
from mercer.io.trust import trusted_types

__all__ = [
    "CannotConvert",
    "ModelFile",
    "ModelFileError",
    "describe",
    "digest",
    "load",
    "read_libsvm",
    "save",
    "to_onnx",
    "trusted_types",
    "write_libsvm",
]
