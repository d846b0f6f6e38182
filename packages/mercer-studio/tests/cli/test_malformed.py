"""500 malformed files and arguments: a sentence and status 1 or 2 each, and nothing is run."""

import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import mercer_studio.cli.app
from cli.commands import call
from mercer_studio.cli.tables import Memory

N = 500
ENDINGS = ("csv", "tsv", "csv.gz", "parquet", "arrow", "svm")
LIMIT = f"{(Memory(1e12).taken + 2.5e9) / 1e6:.0f}MB"  # this process may be large already


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with a good file of every format, and a model."""
    folder = tmp_path_factory.mktemp("whole")
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "colour": rng.choice(["red", "blue"], n),
            "when": pd.date_range("2024-01-01", periods=n).as_unit("us"),
        }
    )
    frame["y"] = frame.x + (frame.colour == "red")
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_csv(folder / "good.tsv", index=False, sep="\t")
    frame.to_csv(folder / "good.csv.gz", index=False)
    frame.to_parquet(folder / "good.parquet")
    frame.to_feather(folder / "good.arrow")
    dump_svmlight_file(rng.normal(size=(n, 3)), frame.y, str(folder / "good.svm"), zero_based=False)
    fitted = call("fit", folder / "good.csv", "--target", "y", "--machine", "LSSVR",
                  "--output", folder / "good.skops")  # fmt: skip
    assert fitted[0] == 0, fitted
    return folder


# Files --------------------------------------------------------------------------------------------


def cut(data, rng):
    return data[: int(rng.integers(0, max(int(0.9 * len(data)), 1)))]


def noise(data, rng):
    return rng.bytes(int(rng.integers(0, 2000)))


def flipped(data, rng):
    held = bytearray(data)
    for at in rng.integers(0, len(held), max(len(held) // 20, 4)):
        held[at] = int(rng.integers(0, 256))
    return bytes(held)


def zeroed(data, rng):
    a = int(rng.integers(0, len(data)))
    return data[:a] + bytes(len(data) - a)


def swallowed(data, rng):
    """Put a file of another kind behind the same beginning."""
    return data[:8] + noise(data, rng) + data[-8:]


def empty(data, rng):
    return b"\n" * int(rng.integers(0, 3))


def enlarged(data, rng):
    """Let lengths, of whatever, be huge."""
    held = bytearray(data)
    at = int(rng.integers(0, max(len(held) - 8, 1)))
    held[at : at + 8] = (2**62 - 1).to_bytes(8, "little")
    return bytes(held[: len(data)])


FILES = (cut, noise, flipped, zeroed, swallowed, empty, enlarged)

TEXTS = {
    "csv": [
        "x,y\n", "x,x,y\n1,2,3\n" * 2, "x,y\n1\n2,3\n", "x,y\n" + "1,\n" * 30,
        "x,y\n" + "1,2\n" * 30,
        "y\n" + "1\n2\n" * 20, "x,y\n" + "inf,1\n2,3\n" * 20, "x,y\n" + "1,inf\n2,3\n" * 20,
        "x,y\n" + "".join(f"{k},w{k}\n" for k in range(40)), "x,y\n" + "1,2\n3,4\n" * 2,
        "\ufeff\n", '"x,y\n1,2\n', "x,y\n" + "1e999,1\n1,2\n" * 20, "x,y\n" + "a" * 10**6,
        "x,z\n" + "1,2\n2,3\n" * 20, ",,,\n,,,\n", "x,y\n" + "2024-01-01,2024-01-01\n" * 20,
        "=cmd|' /C calc'!A0,y\n1,2\n", "x;y\n1;2,3\n",
    ],
    "svm": [
        "1 0:1\n" * 20, "1 1:x\n", "1 2:1 1:1\n" * 20, "a b c\n", "1 1:1 1:2\n" * 20, "1:1\n",
        "1 99999999999999999999:1\n" * 20, "1 1:nan\n" * 20, "inf 1:1\n" * 20, "1 -1:1\n",
        "1 1:1\n" * 20, "# nothing\n", "1,2 1:1\n" * 20, "1 qid:1 1:1\n" * 20, "1 1:1e999\n" * 20,
    ],
}  # fmt: skip


def damaged_model(data, rng, folder):
    """Return a model's archive with an entry that was changed, added, or compressed."""
    source, target = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    names = source.namelist()
    victim = names[int(rng.integers(len(names)))]
    how = int(rng.integers(5))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED if how == 0 else 0) as new:
        for name in names:
            content = source.read(name)
            if name == victim:
                content = (cut, noise)[how % 2](content, rng)
            if name == "schema.json" and how == 4:
                # A reconstruction that would leave a trace if it were run.
                schema = json.loads(source.read(name))
                schema["content"] = {
                    "__class__": "system",
                    "__module__": "os",
                    "__loader__": "FunctionNode",
                    "content": f"touch {folder / 'trace'}",
                    "__id__": 1,
                }
                content = json.dumps(schema).encode()
            new.writestr(name, content)
    return target.getvalue()


# Arguments ----------------------------------------------------------------------------------------

ODD = ("", "-", "--", "\0", "a" * 5000, "💥", "../..", "/dev/null", "/dev/zero", "$(touch trace)",
       "-1", "nan", "1e400", "%s%n", "\n", "[]",
       "__import__('os').system('touch trace')")  # fmt: skip
OPTIONS = ("--target", "--task", "--tune", "--intervals", "--monotone", "--memory-limit",
           "--format", "--delimiter", "--machine", "--set", "--output", "--drop", "--folds",
           "--cluster", "--keep",
           "--categorical", "--no-such-option")  # fmt: skip
COMMANDS = ("fit", "predict", "evaluate", "inspect", "compare", "export", "demo", "warmer", "")
WRONG = [
    ["fit", "{csv}", "--target", "y", "--machine", "no such"],
    ["fit", "{csv}", "--target", "y", "--machine", "tune"],
    ["fit", "{csv}", "--target", "y", "--machine", "__version__"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVC"],
    ["fit", "{csv}", "--target", "colour", "--machine", "SVR"],
    ["fit", "{csv}", "--target", "when"],
    ["fit", "{csv}", "--target", "colour", "--intervals", "0.9", "--machine", "SVC"],
    ["fit", "{csv}", "--target", "y", "--monotone", "colour:up"],
    ["fit", "{csv}", "--target", "y", "--monotone", "nothing:up"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--monotone", "x:up"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--set", "C=-1"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--set", "D=1"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--set", "kernel=nothing"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--output", "{csv}"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--output", "{folder}"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--output", "{folder}/no/where.skops"],
    ["fit", "{csv}", "--target", "y", "--machine", "SVR", "--memory-limit", "1kB"],
    ["fit", "{csv}", "--target", "y", "--drop", "x", "--drop", "colour", "--drop", "when"],
    ["fit", "{csv}", "--target", "y", "--drop", "nothing"],
    ["fit", "{csv}", "--target", "y", "--categorical", "nothing"],
    ["fit", "{csv}", "--target", "y", "--task", "classification"],
    ["fit", "{csv}", "--target", "y", "--delimiter", "ab"],
    ["fit", "{csv}", "--target", "y", "--format", "parquet"],
    ["fit", "{parquet}", "--target", "y", "--format", "svmlight"],
    ["fit", "{folder}", "--target", "y"],
    ["predict", "{model}", "{svm}"],
    ["predict", "{csv}", "{csv}"],
    ["predict", "{model}", "{csv}", "--output", "out.xyz"],
    ["predict", "{model}", "{csv}", "--output", "{csv}"],
    ["predict", "{model}", "{csv}", "--probabilities"],
    ["predict", "{model}", "{csv}", "--keep", "nothing"],
    ["evaluate", "{model}", "{csv}", "--target", "colour"],
    ["evaluate", "{model}", "{csv}", "--target", "nothing"],
    ["export", "{model}", "no/such/folder/out.onnx"],
    ["export", "{model}", "out.xyz"],
    ["compare", "{csv}", "--target", "y", "--machine", "SVR", "--folds", "40"],
    ["compare", "{csv}", "--target", "y", "--machine", "nothing"],
    ["fit", "/dev/zero", "--format", "csv", "--target", "y"],
    ["fit", "{csv}", "--target", "y", "--cluster", "nowhere"],
]


def cases(whole, folder, seed=0):
    """Yield the arguments of malformed commands."""
    rng = np.random.default_rng(seed)
    known = {e: str(whole / f"good.{e}") for e in ENDINGS}
    known |= {"model": str(whole / "good.skops"), "folder": str(folder)}
    for line in WRONG:
        yield [word.format(**known) for word in line]
    count = 0
    for ending, texts in TEXTS.items():
        for text in texts:
            count += 1
            path = folder / f"text{count}.{ending}"
            path.write_text(text)
            yield ["fit", path, "--target", "target" if ending == "svm" else "y",
                   "--machine", "LSSVR", "--memory-limit", LIMIT]  # fmt: skip
    for k in range(N - len(WRONG) - count):
        kind = int(rng.integers(4))
        if kind == 0:
            path = folder / f"model{k}.skops"
            good = (whole / "good.skops").read_bytes()
            if rng.random() < 0.5:
                path.write_bytes(damaged_model(good, rng, folder))
            else:
                # Without the last: some lengths of an archive are written twice, and read once.
                path.write_bytes(FILES[int(rng.integers(len(FILES) - 1))](good, rng))
            yield [["predict", path, known["csv"]], ["inspect", path]][int(rng.integers(2))]
        elif kind in (1, 2):
            ending = ENDINGS[int(rng.integers(len(ENDINGS)))]
            path = folder / f"file{k}.{ending}"
            make = FILES[int(rng.integers(len(FILES)))]
            path.write_bytes(make((whole / f"good.{ending}").read_bytes(), rng))
            # The column is there in no file: what was damaged too little to be seen is refused too.
            yield [
                "fit",
                path,
                "--target",
                "no such",
                "--machine",
                "LSSVR",
                "--memory-limit",
                LIMIT,
            ]
        else:
            words = [COMMANDS[int(rng.integers(len(COMMANDS)))]]
            words += [known[("csv", "model")[int(rng.integers(2))]]] * int(rng.integers(3))
            for _ in range(int(rng.integers(1, 4))):
                words += [
                    OPTIONS[int(rng.integers(len(OPTIONS)))],
                    ODD[int(rng.integers(len(ODD)))],
                ]
            yield [*words, "--json"] if rng.random() < 0.3 else words


def test_500_malformed_files_and_arguments_end_in_a_sentence(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong, count = [], 0
    before = sorted(os.listdir(whole))
    for arguments in cases(whole, tmp_path):
        count += 1
        status, out, err = call(*arguments)
        lines = err.strip().splitlines()
        sentence = lines[-1] if lines else ""
        said = len(lines) == 1 and sentence.startswith("mercer: ") and len(sentence) > 15
        if "--json" in map(str, arguments):
            said = said and json.loads(out.strip().splitlines()[-1])["status"] == status
        if status not in (1, 2) or not said or "should not have happened" in err or "Trace" in err:
            wrong.append(([str(a)[:80] for a in arguments], status, err[-400:]))
    assert count == N
    assert not wrong, f"{len(wrong)}: " + "\n".join(map(str, wrong[:25]))
    assert not list(tmp_path.rglob("trace"))
    assert sorted(os.listdir(whole)) == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_with_a_few_wrong_bytes_fit_or_end_in_a_sentence(whole, tmp_path, ending):
    rng, good = np.random.default_rng(1), bytearray((whole / f"good.{ending}").read_bytes())
    target = "target" if ending == "svm" else "y"
    statuses = []
    for _ in range(15):
        held = bytearray(good)
        for at in rng.integers(0, len(held), 2):
            held[at] = int(rng.integers(32, 127))
        path = tmp_path / f"file.{ending}"
        path.write_bytes(held)
        out = tmp_path / "file.skops"
        status, _, err = call("fit", path, "--target", target, "--machine", "LSSVR", "-o", out)
        assert "should not have happened" not in err
        assert "Traceback" not in err
        assert status == 0 or err.startswith("mercer: ")
        statuses.append(status)
    assert set(statuses) <= {0, 1}


def test_a_mistake_of_ours_is_a_sentence_too(monkeypatch):
    monkeypatch.delenv("MERCER_DEBUG", raising=False)
    monkeypatch.setattr(mercer_studio.cli.app, "inspect_", lambda *a, **k: 1 / 0)
    status, _, err = call("inspect", "x.csv")
    assert status == 1
    assert "should not have happened" in err
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err
