"""Model files made by seeded recipes: renamed entries, indices out of range, bombs, headers."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import mercer
from fits import THREE, YY, X, Y
from mercer.io import save

Entries = dict[str, bytes]
Rng = np.random.Generator
SPARSE = np.where(np.abs(X) > 0.5, X, 0.0)
# Shapes and types that promise what does not follow, or cost what does not show.
SHAPES = [(10**9, 3), (10**12,), (2**62, 2**62), (2**32, 2**32), (-8,), (-4, -2), (10**15, 0)]
TYPES = ["|V0", "<U0", "|S0", "<f8", "<U1000000000", "|V2147483647", "|O", "<c16", "<M8[s]"]


def written(model: Any) -> Entries:
    """Return the entries of the file of a model."""
    file = io.BytesIO()
    save(model, file)
    with zipfile.ZipFile(file) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


MODELS: dict[str, Callable[[], Any]] = {
    "dense": lambda: mercer.SVR().fit(X, Y),
    "sparse": lambda: mercer.SVC().fit(sp.csr_array(SPARSE), THREE),
    "local": lambda: mercer.SVR(approximation=mercer.local.Local(leaf_size=12)).fit(X, Y),
    "landmarks": lambda: mercer.LSSVR(approximation=mercer.Nystrom(12, n_jobs=1)).fit(X, Y),
    "laplacian": lambda: mercer.LSSVR(kernel="laplacian").fit(X, YY),
    "classes": lambda: mercer.SVC(probability=True).fit(X, THREE),
    "forest": lambda: RandomForestClassifier(3, random_state=0).fit(X, THREE),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=2).fit(X, THREE),
}


TREES = ("forest", "boosting")


@cache
def entries_of(name: str) -> Entries:
    """Return the entries of a small model; callers copy them."""
    return written(MODELS[name]())


def packed(entries: Entries, compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a file with these entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a schema."""
    if isinstance(value, list):
        for item in value:
            yield from nodes(item)
    elif isinstance(value, dict):
        if "__loader__" in value:
            yield value
        for item in value.values():
            yield from nodes(item)


def _schema(entries: Entries) -> Any:
    return json.loads(entries["schema.json"])


def _with_schema(entries: Entries, schema: Any) -> Entries:
    return entries | {"schema.json": json.dumps(schema).encode()}


def _named(rng: Rng) -> str:
    return str(rng.choice([".bin", ".txt", "", ".npy", ".npz", ".json", ".NPZ"]))


def _renamed(entries: Entries, old: str, new: str) -> Entries:
    """Give an entry another name, in the archive and in the schema."""
    renamed = {new if name == old else name: content for name, content in entries.items()}
    schema = _schema(renamed)
    for node in nodes(schema):
        if node.get("file") == old:
            node["file"] = new
    return _with_schema(renamed, schema)


def _one(entries: Entries, rng: Rng, ending: str) -> str:
    return str(rng.choice(sorted(name for name in entries if name.endswith(ending))))


def _npz(array: Any, packed: bool) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, array, compressed=packed)
    return buffer.getvalue()


def _npy(header: dict[str, Any], data: bytes = bytes(64)) -> bytes:
    text = (repr(header) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


# The recipes --------------------------------------------------------------------------------------


def indices(rng: Rng) -> bytes:
    """A sparse array with indices or pointers out of range, under any name."""
    entries = dict(entries_of("sparse"))
    name = _one(entries, rng, ".npz")
    array = sp.load_npz(io.BytesIO(entries[name]))
    part = array.indices if rng.random() < 0.6 else array.indptr
    wrong = [2**30, 2**31 - 1, -1, -(2**30), array.shape[1], len(array.data) + 1]
    part[int(rng.integers(len(part)))] = wrong[int(rng.integers(len(wrong)))]
    entries[name] = _npz(array, False)
    return packed(_renamed(entries, name, name.removesuffix(".npz") + _named(rng)))


def sparse_bomb(rng: Rng) -> bytes:
    """A compressed sparse array, far larger than its file, under any name."""
    entries = dict(entries_of("sparse"))
    name = _one(entries, rng, ".npz")
    n = int(rng.integers(10**6, 10**7))
    large = sp.csr_array((np.zeros(n), np.zeros(n, np.int32), np.array([0, n], np.int32)), (1, 1))
    entries[name] = _npz(large, True)
    return packed(_renamed(entries, name, name.removesuffix(".npz") + _named(rng)))


def sparse_parts(rng: Rng) -> bytes:
    """A sparse array whose parts have other formats, shapes, types or names."""
    entries = dict(entries_of("sparse"))
    name = _one(entries, rng, ".npz")
    with zipfile.ZipFile(io.BytesIO(entries[name])) as old:
        parts = {info.filename: old.read(info) for info in old.infolist()}
    part = str(rng.choice(sorted(parts)))
    buffer = io.BytesIO()
    other: list[Any] = [
        np.array(b"dia"), np.array(b"bsr"), np.array([2**40, 2**40]),
        np.array([10**9, 1]), np.zeros((2, 2)), np.array([], np.int64), np.array("csr"),
        np.array([2**31, -1]), np.full(3, np.nan), np.array([0, 10**9], np.int32),
    ]  # fmt: skip
    np.save(buffer, other[int(rng.integers(len(other)))])
    parts[part] = buffer.getvalue()
    if rng.random() < 0.2:
        parts[f"{part}.more"] = parts.pop(part)
    entries[name] = packed(parts)
    return packed(_renamed(entries, name, name.removesuffix(".npz") + _named(rng)))


def header(rng: Rng) -> bytes:
    """A dense array whose header has a type of no size, or a shape that does not follow."""
    entries = dict(entries_of(str(rng.choice(sorted(MODELS)))))
    name = _one(entries, rng, ".npy")
    shape, descr = SHAPES[int(rng.integers(len(SHAPES)))], str(rng.choice(TYPES))
    order = bool(rng.integers(2))
    entries[name] = _npy({"descr": descr, "fortran_order": order, "shape": shape})
    return packed(_renamed(entries, name, name.removesuffix(".npy") + _named(rng)))


def exchanged(rng: Rng) -> bytes:
    """Entries read by a node of another kind: bytes as arrays, arrays as sparse arrays."""
    entries = dict(entries_of(str(rng.choice(["sparse", "dense", "local"]))))
    schema = _schema(entries)
    readers = [node for node in nodes(schema) if "file" in node]
    node = readers[int(rng.integers(len(readers)))]
    kinds = ["NdArrayNode", "SparseMatrixNode", "BytesNode", "BytearrayNode", "ObjectNode"]
    node["__loader__"] = str(rng.choice(kinds))
    node["type"] = str(rng.choice(["numpy", "scipy", "json"]))
    if rng.random() < 0.5:
        node["__class__"] = str(rng.choice(["void", "str_", "bytes_", "float64", "object_"]))
    if rng.random() < 0.5:
        entries[node["file"]] = _npy({"descr": "<i8", "fortran_order": False, "shape": ()},
                                     np.array(10**12).tobytes())  # fmt: skip
    return packed(_with_schema(entries, schema))


def arrays(rng: Rng) -> bytes:
    """A dense array of a fitted model with other numbers, shape or type."""
    entries = dict(entries_of(str(rng.choice(sorted(MODELS)))))
    name = _one(entries, rng, ".npy")
    array = np.load(io.BytesIO(entries[name]))
    kind = int(rng.integers(7))
    if kind == 0 and array.ndim:
        array = array[: len(array) // 2]
    elif kind == 6 and array.ndim > 1:
        array = np.ascontiguousarray(array[:, :-1])
    elif kind == 1:
        array = np.resize(array, (array.size + 1) * 50)
    elif kind == 2:
        array = np.atleast_1d(array)[..., None]
    elif kind == 3:
        array = array.astype(str if array.dtype.kind in "fiu" else "S9")
    elif kind == 4 and array.dtype.kind in "fiu":
        array = np.full_like(array, 2**31 - 1)
    elif array.dtype.kind in "fiu":
        array = np.full(np.shape(array), -(2.0**62)).astype(np.int64)
    buffer = io.BytesIO()
    np.save(buffer, array)
    entries[name] = buffer.getvalue()
    return packed(entries)


def grafts(rng: Rng) -> bytes:
    """Nodes of trees with other children, features or kinds, where compiled loops follow them."""
    entries = dict(entries_of(str(rng.choice(TREES))))
    found = {
        name: np.load(io.BytesIO(content))
        for name, content in entries.items()
        if name.endswith(".npy") and b"'missing_go_to_left'" in content[:2000]
    }
    name = str(rng.choice(sorted(found)))
    nodes_of = found[name]
    words = ("left", "right", "left_child", "right_child", "feature", "feature_idx", "is_leaf",
             "is_categorical", "bitset_idx")  # fmt: skip
    fields = [word for word in words if word in (nodes_of.dtype.names or ())]
    for _ in range(int(rng.integers(1, 4))):
        field, row = str(rng.choice(fields)), int(rng.integers(len(nodes_of)))
        wrong = [0, 1, -1, row, len(nodes_of), 2**20, 2**30, -(2**20)]
        value = np.array(wrong[int(rng.integers(len(wrong)))])
        nodes_of[field][row] = value.astype(nodes_of.dtype[field])
    buffer = io.BytesIO()
    np.save(buffer, nodes_of[: len(nodes_of) - int(rng.random() < 0.2)])
    return packed(entries | {name: buffer.getvalue()})


def numbers(rng: Rng) -> bytes:
    """Numbers in the schema, as the children of a tree, changed to others."""
    entries = dict(entries_of(str(rng.choice(["local", "dense", "classes", "landmarks", *TREES]))))
    schema = _schema(entries)
    plain = [node for node in nodes(schema) if node["__loader__"] == "JsonNode"]
    wrong = ["1000000000", "-5", "1e308", "null", "[]", '"x"', "9" * 400, "NaN", "true"]
    for _ in range(int(rng.integers(1, 4))):
        plain[int(rng.integers(len(plain)))]["content"] = wrong[int(rng.integers(len(wrong)))]
    return packed(_with_schema(entries, schema))


def tree(rng: Rng) -> bytes:
    """The schema cut, repeated, nested or referring to itself."""
    entries = dict(entries_of(str(rng.choice(sorted(MODELS)))))
    schema = _schema(entries)
    found = list(nodes(schema))
    node, other = (found[int(k)] for k in rng.integers(len(found), size=2))
    kind = int(rng.integers(6))
    if kind == 0:
        node.pop(str(rng.choice(sorted(node))))
    elif kind == 1:
        node["__id__"] = other.get("__id__")
    elif kind == 2:
        node["content"] = {"__id__": schema.get("__id__")}
    elif kind == 3:
        node["__class__"], node["__module__"] = "csr_array", "scipy.sparse._csr"
    elif kind == 4:
        node["__loader__"] = str(rng.choice(sorted({one["__loader__"] for one in found})))
    else:
        node.update({key: value for key, value in other.items() if key != "__id__"})
    try:
        return packed(_with_schema(entries, schema))
    except RecursionError:
        return packed(entries | {"schema.json": b"[" * 10_000})


def bomb(rng: Rng) -> bytes:
    """A compressed archive, or entries that claim more than there is."""
    entries = dict(entries_of("dense"))
    if rng.random() < 0.5:
        zeros = bytes(int(rng.integers(10**7, 10**8)))
        kind = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA][int(rng.integers(3))]
        return packed(entries | {_one(entries, rng, ".npy"): zeros[: 2 * 10**7]}, kind)
    data = bytearray(packed(entries))
    at = data.find(b"PK\x01\x02")
    for _ in range(int(rng.integers(6))):
        at = max(data.find(b"PK\x01\x02", at + 4), 0)
    struct.pack_into("<II", data, at + 20, *(int(n) for n in rng.integers(2**32, size=2)))
    return bytes(data)


def manifest(rng: Rng) -> bytes:
    """A manifest of another layout, or with values of other types."""
    entries = dict(entries_of("dense"))
    found = json.loads(entries["mercer.json"])
    wrong = [-1, 0, 2, None, True, "1", [], {}, 10**30, 1.5, "\x1b[2J"]
    found[str(rng.choice(sorted(found)))] = wrong[int(rng.integers(len(wrong)))]
    found["format"] = -1 if rng.random() < 0.3 else found["format"]
    return packed(entries | {"mercer.json": json.dumps(found).encode()})


def flipped(rng: Rng) -> bytes:
    """Bytes of a file changed, cut or repeated."""
    data = bytearray(packed(entries_of(str(rng.choice(sorted(MODELS))))))
    for place in rng.integers(len(data), size=int(rng.integers(1, 8))):
        data[int(place)] ^= 1 << int(rng.integers(8))
    return bytes(data[: int(rng.integers(len(data)))] if rng.random() < 0.3 else data)


RECIPES: list[Callable[[Rng], bytes]] = [
    *(indices, sparse_bomb, sparse_parts, header, exchanged, arrays, numbers, tree),
    *(bomb, manifest, flipped, grafts),
]


def model_file(seed: int) -> tuple[str, bytes]:
    """Return the name of a recipe and a file that it made from a seed."""
    recipe = RECIPES[seed % len(RECIPES)]
    return recipe.__name__, recipe(np.random.default_rng([7, seed]))
