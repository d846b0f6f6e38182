"""Data files made by seeded recipes: headers, bombs, other files' rows, and changed bytes."""

import gzip
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr

from hostile_files.model_files import SHAPES, TYPES
from hostile_files.rows import TABLE, WRITERS, X

Rng = np.random.Generator
# What a reader may read and must not give away.
SECRET = b"secret: " * 100


def npy(path: Path, rng: Rng) -> None:
    """A header with a type of no size, a shape that does not follow, or a program."""
    shape: Any = SHAPES[int(rng.integers(len(SHAPES)))]
    header = {"descr": str(rng.choice(TYPES)), "fortran_order": bool(rng.integers(2))}
    text = repr(header | {"shape": shape})
    if rng.random() < 0.3:
        text = text.replace("'shape'", str(rng.choice(["'sh'", "shape", "'shape': 1, 'x'"])))
    version = int(rng.integers(1, 5))
    size = struct.pack("<H" if version == 1 else "<I", len(text) + int(rng.integers(-3, 4)))
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + bytes(64))


def hdf5(path: Path, rng: Rng) -> None:
    """Rows in other files, through links, external storage or virtual data sets, or bombs."""
    secret = path.with_name("secret.raw")
    secret.write_bytes(SECRET)
    with h5py.File(path.with_name("other.h5"), "w") as other:
        other["X"] = np.zeros((20, 3))
    kind = int(rng.integers(8))
    with h5py.File(path, "w") as file:
        if kind == 0:
            file.create_dataset("X", (20, 3), "u1", external=[(str(secret), 0, 60)])
        elif kind == 1:
            parts = [(str(secret), 8 * k, 8) for k in range(int(rng.integers(2, 8)))]
            file.create_dataset("X", (len(parts), 1), "f8", external=parts)
        elif kind == 2:
            layout = h5py.VirtualLayout((20, 3), "f8")
            name = str(rng.choice(["other.h5", "/dev/zero", "gone.h5", str(path)]))
            layout[:] = h5py.VirtualSource(name, "X", (20, 3))
            file.create_virtual_dataset("X", layout)
        elif kind == 3:
            file["X"] = h5py.ExternalLink(str(rng.choice(["other.h5", "/dev/zero", "."])), "/X")
        elif kind == 4:
            file["a"] = h5py.ExternalLink("other.h5", "/")
            file["X"] = h5py.SoftLink("/a/X")
        elif kind == 5:
            shape = (int(rng.integers(2**20, 2**30)), 4)
            chunks = (2**18 * int(rng.integers(1, 200)), 4)
            chunks = (min(chunks[0], shape[0]), 4)
            made = file.create_dataset("X", shape, "f8", chunks=chunks, compression="gzip")
            made[: min(1000, shape[0])] = 0.0
        elif kind == 6:
            file.create_dataset("X", (2**50, int(rng.integers(1, 5))), "f8")
        else:
            file.create_dataset("X", (2**40,), h5py.string_dtype())
    if rng.random() < 0.2:
        change(path, rng)


def zarr_store(path: Path, rng: Rng) -> None:
    """A store whose description claims other shapes, chunks, types or codecs."""
    zarr.create_array(path, data=X, chunks=(64, 3))
    file = path / "zarr.json"
    found = json.loads(file.read_text())
    kind = int(rng.integers(6))
    if kind == 0:
        found["shape"] = [int(rng.integers(2**30, 2**60)), 3]
    elif kind == 1:
        huge = [int(rng.integers(2**24, 2**40)), 3]
        found["chunk_grid"]["configuration"]["chunk_shape"] = huge
    elif kind == 2:
        found["data_type"] = str(rng.choice(["string", "object", "float128", "V0", "r0", "bool"]))
    elif kind == 3:
        found["codecs"] = [{"name": str(rng.choice(["pickle", "numcodecs.pickle", "bytes", "?"]))}]
    elif kind == 4:
        found["shape"] = [-4, 3]
        found["fill_value"] = "x" * 1000
    else:
        found[str(rng.choice(sorted(found)))] = None
    file.write_text(json.dumps(found))


def parquet(path: Path, rng: Rng) -> None:
    """Parquet with rows that pack well, nested types, or changed bytes in footer and pages."""
    if rng.random() < 0.2:
        n = int(rng.integers(10**6, 10**7))
        table = pa.table({"a": pa.repeat(pa.scalar(1.0), n)})
        pq.write_table(table, path, compression=str(rng.choice(["gzip", "zstd", "brotli"])))
        return
    pq.write_table(TABLE, path, row_group_size=100)
    data = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        data[-8:-4] = struct.pack("<I", int(rng.integers(2**32)))
    footer = int.from_bytes(data[-8:-4], "little") + 8
    first = max(len(data) - footer, 0) if rng.random() < 0.6 else 0
    for place in rng.integers(first, len(data), size=int(rng.integers(1, 6))):
        data[int(place)] = int(rng.integers(256))
    path.write_bytes(bytes(data))


def arrow(path: Path, rng: Rng) -> None:
    """A stream of Arrow whose messages have other lengths."""
    WRITERS[f"x{path.suffix}"](path)
    data = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 6))):
        place = int(rng.integers(len(data) - 8))
        wrong = [2**31 - 1, 2**32 - 1, 0, 2**16, int(rng.integers(2**32))]
        data[place : place + 4] = struct.pack("<I", wrong[int(rng.integers(len(wrong)))])
    path.write_bytes(bytes(data))


def text(path: Path, rng: Rng) -> None:
    """Text with many columns, long values, no line ends, bytes of no text, or one name twice."""
    kind = int(rng.integers(8))
    wide = int(rng.integers(1000, 4000))
    made: dict[int, Callable[[], bytes]] = {
        0: lambda: (",".join(f"c{k}" for k in range(wide)) + "\n" + ("1," * wide)[:-1]).encode(),
        1: lambda: b"a,b\n" + b"x" * 10**6,
        2: lambda: b"a," * 10**5,
        3: lambda: rng.bytes(5000),
        4: lambda: b"a,a\n1,2\n",
        5: lambda: b'a,b\n"' + b"1,2\n" * 10**5,
        6: lambda: b"a,b\n" + b"1" * 5000 + b",2\n",
        7: lambda: b"\x1b[2J,=cmd|' /C calc'!A0\n1,2\n",
    }
    data = made[kind]()
    if path.suffix == ".gz":
        data = gzip.compress(data + b"0,0\n" * int(rng.integers(10**6)))
        if rng.random() < 0.4:
            data = data[: int(rng.integers(len(data)))]
    path.write_bytes(data)


def change(path: Path, rng: Rng) -> None:
    """Change some bytes of a file, or cut it."""
    data = bytearray(path.read_bytes())
    for place in rng.integers(len(data), size=int(rng.integers(1, 8))):
        data[int(place)] ^= 1 << int(rng.integers(8))
    cut = rng.random() < 0.3
    path.write_bytes(bytes(data[: int(rng.integers(len(data)))] if cut else data))


def mutated(path: Path, rng: Rng) -> None:
    """A right file of any format with changed bytes."""
    WRITERS[path.name](path)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        change(files[int(rng.integers(len(files)))], rng)
    else:
        change(path, rng)


RECIPES: list[tuple[str, Callable[[Path, Rng], None]]] = [
    *(("x.npy", npy), ("x.h5", hdf5), ("x.zarr", zarr_store), ("x.parquet", parquet)),
    *(("x.arrow", arrow), ("x.feather", arrow), ("x.csv", text), ("x.csv.gz", text)),
    *((name, mutated) for name in ("x.npy", "x.h5", "x.zarr", "x.parquet", "x.arrow", "x.csv.gz")),
]


def data_file(seed: int, folder: Path) -> tuple[str, Path]:
    """Write a file into an empty folder by a recipe; return the recipe's name and the file."""
    name, recipe = RECIPES[seed % len(RECIPES)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / name
    recipe(path, np.random.default_rng([11, seed]))
    return f"{recipe.__name__} {name}", path


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of a store."""
    files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
    return sum(p.stat().st_size for p in files)


__all__ = ["SECRET", "data_file", "size_of"]
