"""Files that are no models, or were changed to harm: refused with a sentence, nothing run."""

import copy
import io
import json
import struct
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

import mercer
from fits import THREE, X, Y
from mercer.io import ModelFileError, describe, load, save
from mercer.io.fitted import check_fitted
from mercer.tabular.forest import Forest


def written(model):
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


MODEL = written(mercer.SVR().fit(X, Y))
SPARSE = written(mercer.SVC().fit(sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), THREE))


def changed(change, data=MODEL, compression=zipfile.ZIP_STORED):
    """Return a file whose entries were changed by a function of their dictionary."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    entries = change(entries) or entries
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def in_schema(change):
    def apply(entries):
        schema = json.loads(entries["schema.json"])
        schema = change(schema) or schema
        entries["schema.json"] = json.dumps(schema).encode()

    return changed(apply)


def in_manifest(**new):
    def apply(entries):
        entries["mercer.json"] = json.dumps(json.loads(entries["mercer.json"]) | new).encode()

    return changed(apply)


def refused(data, match):
    with pytest.raises(ModelFileError, match=match):
        load(io.BytesIO(data))


def test_the_files_that_are_changed_here_are_models():
    for data in (MODEL, SPARSE):
        assert load(io.BytesIO(changed(lambda entries: None, data))) is not None


def test_what_is_no_archive():
    for data in (b"", b"no model", b"\x80\x04K\x01.", np.random.default_rng(0).bytes(5000)):
        refused(data, "is not a model that mercer.io.save wrote, or it is cut off")
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "text")
    refused(other.getvalue(), "is a zip archive, but not one that mercer.io.save wrote")


def test_files_that_cannot_be_opened(tmp_path):
    for path in (tmp_path / "none.skops", tmp_path):
        with pytest.raises(ModelFileError, match="cannot be read"):
            load(path)
    with pytest.raises(ModelFileError, match="cannot be read"):
        describe(tmp_path / "none.skops")


def test_every_file_that_is_cut_off():
    # The directory of a zip is its end, so no shorter file has one.
    for length in np.linspace(0, len(MODEL) - 1, 60).astype(int):
        refused(MODEL[:length], "cut off|damaged")


def test_every_changed_byte_is_noticed_or_harmless():
    """Bytes of entries are covered by checksums; others may only end in a refusal or the model."""
    expected = load(io.BytesIO(MODEL)).predict(X)
    rng, refusals = np.random.default_rng(0), 0
    for position in rng.integers(0, len(MODEL), 150):
        data = bytearray(MODEL)
        data[position] ^= 0xFF
        try:
            found = load(io.BytesIO(bytes(data)))
        except ModelFileError:
            refusals += 1
        else:
            assert np.array_equal(found.predict(X), expected)
    assert refusals > 100


def test_large_files_are_not_read():
    with pytest.raises(ModelFileError, match="more than max_bytes=1000"):
        load(io.BytesIO(MODEL), max_bytes=1000)


def test_zip_bombs():
    bomb = changed(
        lambda entries: entries | {"zeros.npy": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED
    )
    assert len(bomb) < 10**6
    refused(bomb, "compressed entries")


def test_entries_that_overlap():
    # Every entry of the directory is said to be the whole file.
    data = bytearray(MODEL)
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<II", data, at + 20, len(MODEL), len(MODEL))
        at = data.find(b"PK\x01\x02", at + 4)
    refused(bytes(data), "larger than the file together")


def test_entries_of_one_name():
    buffer = io.BytesIO(MODEL)
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    refused(buffer.getvalue(), "entries of the same name")


@pytest.mark.parametrize("inside", ["SparseMatrixNode", "ObjectNode"])
def test_sparse_arrays_with_indices_out_of_range(inside):
    def apply(entries):
        name = next(name for name in entries if name.endswith(".npz"))
        array = sp.load_npz(io.BytesIO(entries[name]))
        array.indices[0] = 10**6
        buffer = io.BytesIO()
        sp.save_npz(buffer, array, compressed=inside != "SparseMatrixNode")
        entries[name] = buffer.getvalue()
        schema = entries["schema.json"].decode().replace('"SparseMatrixNode"', f'"{inside}"')
        entries["schema.json"] = schema.encode()

    match = "indices|parts of SciPy"
    refused(changed(apply, SPARSE), match)


@pytest.mark.parametrize("name", ["entry.bin", "entry", "entry.npy", "entry.txt"])
@pytest.mark.parametrize("kind", ["indices", "bomb"])
def test_an_entry_is_judged_by_what_reads_it(kind, name):
    """Not by its name: under another one, indices of 2**30 ended the process in predict."""

    def apply(entries):
        old = next(name for name in entries if name.endswith(".npz"))
        array = sp.load_npz(io.BytesIO(entries.pop(old)))
        if kind == "indices":
            array.indices[0] = 2**30
        buffer = io.BytesIO()
        sp.save_npz(buffer, array, compressed=kind == "bomb")
        entries[name] = buffer.getvalue()
        entries["schema.json"] = entries["schema.json"].replace(old.encode(), name.encode())

    refused(changed(apply, SPARSE), "indices" if kind == "indices" else "it is compressed")


@pytest.mark.parametrize("descr", ["|V0", "<U0", "|S0"])
def test_arrays_of_no_size(descr):
    def apply(entries):
        name = next(name for name in entries if name.endswith(".npy"))
        buffer = io.BytesIO()
        header = {"descr": descr, "fortran_order": False, "shape": (10**12, 2)}
        np.lib.format.write_array_header_1_0(buffer, header)
        entries[name] = buffer.getvalue()

    refused(changed(apply), "has no size")


def test_a_scalar_that_is_as_long_as_it_says():
    """NumPy's void of the number 10**12 is 10**12 bytes."""

    def apply(entries):
        schema = json.loads(entries["schema.json"])
        node = next(arrays(schema))
        node["__class__"] = "void"
        buffer = io.BytesIO()
        np.save(buffer, np.array(10**12))
        entries[node["file"]] = buffer.getvalue()
        entries["schema.json"] = json.dumps(schema).encode()

    refused(changed(apply), "void is not what '<i8' holds")


def test_packed_sparse_arrays():
    def apply(entries):
        name = next(name for name in entries if name.endswith(".npz"))
        buffer = io.BytesIO()
        sp.save_npz(buffer, sp.csr_array(np.zeros((100_000, 3))), compressed=True)
        entries[name] = buffer.getvalue()

    refused(changed(apply, SPARSE), "it is compressed")


def arrays(schema):
    """Yield the nodes of a schema that are arrays."""
    if isinstance(schema, dict):
        if schema.get("__loader__") == "NdArrayNode" and "file" in schema:
            yield schema
        for value in schema.values():
            yield from arrays(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from arrays(value)


def test_arrays_that_promise_more_than_they_have():
    def apply(entries):
        name = next(name for name in entries if name.endswith(".npy"))
        buffer = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(buffer, header)
        entries[name] = buffer.getvalue()

    refused(changed(apply), "promises 8000000000000 bytes of numbers")


def test_arrays_of_objects():
    def apply(entries):
        name = next(name for name in entries if name.endswith(".npy"))
        buffer = io.BytesIO()
        np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
        entries[name] = buffer.getvalue()

    refused(changed(apply), "pickled objects")


def test_an_array_that_is_read_many_times():
    def change(schema):
        first, *others = arrays(schema)
        for number, node in enumerate(others):
            node.update(file=first["file"], __id__=-number - 1)

    refused(in_schema(change), "more than once")


def test_an_array_that_is_not_there():
    def change(schema):
        next(arrays(schema))["file"] = "../../etc/passwd"

    refused(in_schema(change), "damaged")


def nodes(**content):
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"} | content


def test_references_that_double():
    """A tree of thirty levels whose every node is the next one twice."""

    def change(schema):
        tree = nodes(__id__=1, content=[])
        for level in range(2, 31):
            tree = nodes(__id__=level, content=[tree, {"__id__": level - 1}])
        return tree | {"protocol": schema["protocol"]}

    refused(in_schema(change), "refers to its own parts")


def test_references_in_a_circle():
    def change(schema):
        return nodes(__id__=1, content=[{"__id__": 1}]) | {"protocol": schema["protocol"]}

    refused(in_schema(change), "damaged")


def test_deep_trees():
    def change(schema):
        tree = nodes(content=[])
        for _ in range(400):
            tree = nodes(content=[tree])
        return tree | {"protocol": schema["protocol"]}

    refused(in_schema(change), "nested too deeply|damaged")


ATTACKS = {
    "system": {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
    "eval": {"__class__": "eval", "__module__": "builtins", "__loader__": "TypeNode"},
    "importer": {
        "__class__": "Later",
        "__module__": "mercer._lazily",
        "__loader__": "ConstructorFromReduceNode",
        "content": nodes(content=[], __class__="tuple", __loader__="TupleNode"),
    },
    "pickle": {
        "__class__": "_in_files",
        "__module__": "mercer.local.shelf",
        "__loader__": "FunctionNode",
    },
    "file": {
        "__class__": "NpyArray",
        "__module__": "mercer.data.array_files",
        "__loader__": "ObjectNode",
    },
    "method": {
        "__class__": "SVR",
        "__module__": "mercer.estimators.svr",
        "__loader__": "MethodNode",
        "content": {
            "func": "fit",
            "obj": {
                "__class__": "SVR",
                "__module__": "mercer.estimators.svr",
                "__loader__": "ObjectNode",
            },
        },
    },
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_types_that_are_not_trusted(attack):
    refused(
        in_schema(lambda schema: ATTACKS[attack] | {"protocol": schema["protocol"]}),
        "wants types that are not of mercer",
    )


def test_schemas_that_are_none():
    for schema in (b"", b"[]", b"null", b"{}", b'{"protocol": 99}', b"\xff", b"[" * 100_000):
        refused(changed(lambda entries, s=schema: entries | {"schema.json": s}), "damaged")


def test_manifests():
    refused(in_manifest(format=2), "reads layouts up to 1. Install a later version")
    for format in ("1", -1, 0, True, 1.0, None):
        refused(in_manifest(format=format), "says that its layout is")
    for wrong in ({"other": 1}, {"versions": {}}, {"versions": [1]}, {"settings": {"C": 1}}):
        refused(in_manifest(**wrong), "manifest that mercer did not write")
    refused(changed(lambda entries: entries | {"mercer.json": b"{"}), "mercer.json cannot be read")
    large = b'{"a": "' + b"a" * 2**20 + b'"}'
    refused(changed(lambda entries: entries | {"mercer.json": large}), "manifest of more than")


def test_trees_of_local_machines_with_ways_to_nowhere():
    """Compiled code follows children without looking; the file is refused before."""
    local = mercer.SVR(approximation=mercer.local.Local(leaf_size=12)).fit(X, Y)
    tree = local.tree_
    assert load(io.BytesIO(written(local))).tree_.children == tree.children
    right = tree.children[0]
    for children in ((10**9, 1), (0, 0), (-5, 2)):
        tree.children[0] = children
        refused(written(local), "children that are not below it")
    tree.children[0] = right
    last = tree.cut.pop()
    refused(written(local), "as many columns as cuts")
    tree.cut.append(last)
    tree.column[0] = 10**6
    with pytest.raises(ValueError, match="cuts feature 1000000"):
        load(io.BytesIO(written(local))).predict(X)


def test_derived_values_are_not_read_from_files():
    """What compiled code reads is computed from the model, not taken from its file."""
    tree = mercer.SVR(approximation=mercer.local.Local(leaf_size=12)).fit(X, Y).tree_
    tree.__dict__["_flat"] = ()
    check_fitted({"steps": [(tree,)]})
    assert len(tree._flat) == 6


@pytest.mark.parametrize("name", ["_dual_coef_", "_intercept_", "support_", "_n_support"])
def test_machines_of_libsvm_with_other_lengths(name):
    """LIBSVM reads as far as its counts say."""
    machine = svm.SVC().fit(X, THREE)
    assert np.array_equal(load(io.BytesIO(written(machine))).predict(X), machine.predict(X))
    setattr(machine, name, getattr(machine, name)[..., :1])
    refused(written(machine), "lengths that do not fit")


@pytest.mark.parametrize("name", ["_probA", "_probB"])
def test_sigmoids_of_libsvm_with_other_lengths(name):
    """Three classes have three pairs, and a sigmoid for each or for none."""
    machine = svm.SVC().fit(X, THREE)
    setattr(machine, name, np.zeros(2))
    refused(written(machine), "lengths that do not fit")


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("width", [1, 5])
def test_support_vectors_with_other_features(kernel, width):
    """Compiled loops would read beyond the shorter points."""
    machine = mercer.SVR(kernel=kernel).fit(X, Y)
    machine.support_vectors_ = np.ones((len(machine.support_vectors_), width))
    with pytest.raises(ValueError, match=r"features|mismatch|matmul"):
        load(io.BytesIO(written(machine))).predict(X)


def test_coefficients_of_other_points():
    model = load(io.BytesIO(MODEL))
    model.dual_coef_ = model._dual_coef_ = np.ones((1, 10**6))
    with pytest.raises(ValueError, match="rows of coefficients"):
        model.predict(X)


def grafted(tree, change, **arguments):
    """Return a tree of scikit-learn with other nodes, as a file could hold it."""
    kind, (p, classes, outputs), state = tree.__reduce__()
    state = state | {"nodes": state["nodes"].copy(), "values": state["values"].copy()}
    found = kind(arguments.get("features", p), classes, outputs)
    found.__setstate__(change(state) or state)
    return found


def in_nodes(**fields):
    def change(state):
        for name, value in fields.items():
            state["nodes"][name][0] = value

    return change


GRAFTS = {
    "beyond": (in_nodes(left_child=10**9), "children that are not below their node"),
    "circle": (in_nodes(right_child=0), "children that are not below their node"),
    "before": (in_nodes(left_child=-7), "children that are not below their node"),
    "half": (in_nodes(left_child=-1), "children that are not below their node"),
    "shared": (in_nodes(left_child=2, right_child=2), "children that are not below their node"),
    "feature": (in_nodes(feature=10**6), "cuts other features than its 2"),
    "no feature": (in_nodes(feature=-3), "cuts other features than its 2"),
    "depth": (lambda state: state | {"max_depth": 0}, "deeper than it says"),
    "paths": (lambda state: state | {"max_depth": 10**12}, "deeper than it says"),
    "count": (lambda state: state | {"node_count": 1}, "children that are not below"),
}


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesRegressor])
@pytest.mark.parametrize("graft", GRAFTS)
def test_forests_with_ways_to_nowhere(kind, graft):
    """Compiled code follows nodes without looking; the file is refused before."""
    forest = kind(3, random_state=0).fit(X, np.digitize(Y, [0.0]))
    found = load(io.BytesIO(written(forest)))
    assert np.array_equal(found.predict(X), forest.predict(X))
    change, match = GRAFTS[graft]
    forest.estimators_[1].tree_ = grafted(forest.estimators_[1].tree_, change)
    refused(written(forest), match)


def in_forest(name, at, value):
    def change(parts):
        parts["nodes"][name][at] = value

    return change


NODES = {
    "beyond": (in_forest("left", 0, 10**9), "children that are not below their node"),
    "last": (lambda parts: in_forest("left", 0, len(parts["nodes"]) - 1)(parts), "not below"),
    "circle": (in_forest("left", 1, 0), "children that are not below their node"),
    "half": (in_forest("left", 0, 0), "children that are not below their node"),
    "shared": (in_forest("left", 0, 2), "children that are not below their node"),
    "feature": (in_forest("feature", 0, 10**6), "cuts other features than its 2"),
    "leaf": (in_forest("leaf", 0, 10**6), "leaves without values"),
    "cut": (in_forest("cut", -1, 0.0), "a leaf with a cut"),
    "roots": (lambda parts: parts["roots"].__setitem__(1, 2**32 - 1), "not below their node"),
    "no roots": (lambda parts: parts.update(roots=parts["roots"][:0]), "do not fit"),
    "kinds": (lambda parts: parts.update(values=parts["values"].astype(object)), "do not fit"),
    "classes": (lambda parts: parts.update(classes_=np.arange(9)), "other classes"),
    "features": (lambda parts: parts.update(n_features_in_=2.5), "do not fit"),
    "all roots": (
        lambda parts: parts.update(roots=np.arange(len(parts["nodes"]), dtype=np.uint32)),
        "not below their node",
    ),
}


@pytest.mark.parametrize("change", NODES)
def test_flat_forests_with_ways_to_nowhere(change):
    """Compiled code follows nodes without looking; the file is refused before."""
    forest = Forest.of(RandomForestClassifier(3, random_state=0).fit(X, THREE))
    pipeline = Pipeline([("forest", forest)])
    found = load(io.BytesIO(written(pipeline))).steps[0][1]
    assert np.array_equal(found.predict_proba(X), forest.predict_proba(X))
    parts = {name: copy.deepcopy(part) for name, part in vars(forest).items()}
    NODES[change][0](parts)
    refused(written(Pipeline([("forest", Forest(**parts))])), NODES[change][1])


def test_forests_of_other_points():
    """Forests hand points to their trees unseen, so their features must be those of the trees."""
    forest = RandomForestClassifier(3, random_state=0).fit(X, THREE)
    forest.n_features_in_ = 1
    refused(written(forest), "trees of other features than its own 1")
    for name in ("n_features_in_", "estimators_"):
        forest = RandomForestClassifier(3, random_state=0).fit(X, THREE)
        part = forest if name == "n_features_in_" else forest.estimators_[0]
        del part.n_features_in_
        refused(written(forest), "has trees, but no number of features")
    forest = RandomForestClassifier(3, random_state=0).fit(X, THREE)
    forest.estimators_[0] = svm.SVC().fit(X, THREE)
    refused(written(forest), "trees of other features")
    tree = DecisionTreeClassifier().fit(X, THREE)
    assert np.array_equal(load(io.BytesIO(written(tree))).predict(X), tree.predict(X))
    tree.tree_ = grafted(tree.tree_, in_nodes(feature=9), features=10)
    refused(written(tree), "a tree of 10 features instead of 2")
    tree.tree_ = mercer.SVR().fit(X, Y)
    refused(written(tree), "has a SVR for a tree")


@pytest.mark.parametrize("shared", [False, True])
def test_trees_that_no_estimator_guards(shared):
    """Elsewhere nobody compares the number of features with that of the points."""
    tree = DecisionTreeClassifier().fit(X, THREE)
    steps = [("tree", tree)] * shared + [("bare", tree.tree_)]
    refused(written(Pipeline(steps)), "a Tree is not held by a forest")
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(X, THREE)
    steps = [("all", boosting)] * shared + [("bare", boosting._predictors[0][0])]
    refused(written(Pipeline(steps)), "a TreePredictor is not held by a forest")


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, IsolationForest, RandomTreesEmbedding])
def test_other_ensembles_of_trees(kind):
    """They follow nodes in other ways, which are not looked over."""
    refused(written(kind(n_estimators=2).fit(X, Y)), "looked over in forests only")


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("left", 10**9, "children that are not below their node"),
        ("right", 0, "children that are not below their node"),
        ("feature_idx", 10**6, "cuts other features than its 2"),
        ("feature_idx", -1, "cuts other features than its 2"),
        ("is_categorical", 1, "cuts categories"),
        ("is_leaf", 1, "children that are not below their node"),
    ],
)
def test_boosting_with_ways_to_nowhere(field, value, match):
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(X, THREE)
    found = load(io.BytesIO(written(boosting)))
    assert np.array_equal(found.predict_proba(X), boosting.predict_proba(X))
    boosting._predictors[1][2].nodes[field][0] = value
    refused(written(boosting), match)


def test_boosting_of_other_points():
    def changed(name, value):
        boosting = HistGradientBoostingClassifier(max_iter=2).fit(X, THREE)
        setattr(boosting, name, value)
        return written(boosting)

    refused(changed("n_features_in_", 0), "cuts other features than its 0")
    refused(changed("n_features_in_", None), "no number of features")
    refused(changed("_in_fit", True), "prepares its points itself")
    refused(changed("_preprocessor", svm.SVC()), "prepares its points itself")
    refused(changed("_predictors", [[svm.SVC()]]), "has a SVC for a tree")
    boosting = HistGradientBoostingClassifier(max_iter=2).fit(X, THREE)
    boosting._predictors[0][0].nodes = boosting._predictors[0][0].nodes[:0]
    refused(written(boosting), "children that are not below their node")


def test_trees_of_tables_with_ways_to_nowhere():
    """The trees inside the members of a table."""
    model = mercer.AutoClassifier(members=["squares-gaussian", "forest"]).fit(X, THREE)
    model.members_[1].machine.nodes["left"][7] = 10**9
    refused(written(model), "children that are not below their node")
