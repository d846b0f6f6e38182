"""What five kinds of users complained of in their first hour, tried again from the wheel.

``complaints.py`` builds the wheel, installs it into a new environment with the extras that the
users had, and does there what they did, each in a process of its own; ``--here`` uses this
interpreter instead. A line fails if what was complained of is still so.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.users.first_hour import ROOT, environment, fresh, timed

START = """
import contextlib, io, json, os, re, sys, warnings
import numpy as np, pandas as pd
import mercer
from mercer import *
from mercer_studio.cli import main
rng = np.random.default_rng(0)

def said(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(list(arguments))
    return status, out.getvalue()

def refused(act, *words):
    try:
        act()
    except Exception as error:
        text = str(error)
        missing = [word for word in words if word.lower() not in text.lower()]
        assert not missing, f"no word of {missing} in: {text}"
        return text
    raise AssertionError("it was not refused")
"""

ANALYST = {
    "dates are read by a machine for tables": """
X = pd.DataFrame({"t": pd.date_range("2020", periods=120), "x": rng.normal(size=120)})
y = np.arange(120.0)
assert AutoRegressor(members=["gaussian"]).fit(X, y).score(X, y) > 0.9
refused(lambda: SVR().fit(X, y), "date", "AutoRegressor")
X.assign(y=y).to_csv("dates.csv", index=False)
status, text = said("fit", "dates.csv", "--target", "y", "--machine", "LSSVR")
assert status == 0 and "date" in text, text
""",
    "a column of dates as words decides": """
X = pd.DataFrame({"d": pd.date_range("2020", periods=60).astype(str), "x": rng.normal(size=60)})
model = AutoRegressor().fit(X, np.arange(60.0))
assert model.score(X, np.arange(60.0)) > 0.9
""",
    "decimal commas and words around numbers": """
a, b = rng.normal(size=80).round(2), rng.integers(1000, 99999, 80)
rows = ["a;b;c;y"] + [
    f"{str(u).replace('.', ',')};{v:,};EUR {abs(u):.1f};{str(round(3 * u, 2)).replace('.', ',')}"
    for u, v in zip(a, b)
]
rows[7] = "oops" + rows[7][rows[7].index(";"):]
open("commas.csv", "w").write("\\n".join(rows))
status, text = said("fit", "commas.csv", "--target", "y", "--machine", "LSSVR")
assert status == 0 and not re.search("category|categories", text), text
""",
    "files of other encodings and comments": """
frame = pd.DataFrame({"größe": rng.normal(size=40), "tag": pd.date_range("2021", periods=40)})
frame["y"] = 2 * frame["größe"]
frame["tag"] = frame["tag"].dt.strftime("%d.%m.%Y")
for name, how in {"latin": "latin-1", "wide": "utf-16"}.items():
    frame.to_csv(f"{name}.csv", index=False, encoding=how)
    status, text = said("fit", f"{name}.csv", "--target", "y", "--machine", "LSSVR")
    assert status == 0 and "1 date" in text and "1 number" in text, text
    assert "1 iterations" not in text, text
open("comment.csv", "w").write("# of a meter\\n" + frame.to_csv(index=False))
status, text = said("fit", "comment.csv", "--target", "y", "--machine", "LSSVR", "--comment", "#")
assert status == 0, text
assert "names of rows" not in text, text
""",
    "--tune bounds the time": """
import time
X = rng.normal(size=(3000, 6))
pd.DataFrame(X, columns=list("abcdef")).assign(y=np.sin(X[:, 0])).to_csv("t.csv", index=False)
began = time.perf_counter()
assert said("fit", "t.csv", "--target", "y", "--tune", "6s")[0] == 0
assert time.perf_counter() - began < 40
""",
    "an index without a name, equal names, one row": """
frame = pd.DataFrame({"a": rng.normal(size=40), "y": rng.normal(size=40)})
frame.to_csv("index.csv")
status, text = said("fit", "index.csv", "--target", "y", "--machine", "LSSVR")
assert status == 0 and re.search("left out|not used|names of rows|index", text), text
open("twice.csv", "w").write("a,a,y\\n" + "\\n".join("1,2,3" for _ in range(20)))
status, text = said("fit", "twice.csv", "--target", "y")
assert status and "a" in text and re.search("rename|twice|name", text), text
assert "1 rows" not in text
""",
}
SCIENTIST = {
    "progress on a terminal, with an estimate of the time": """
import pty
code = ("import numpy as np; from mercer import AutoRegressor; "
        "X = np.random.default_rng(0).normal(size=(700, 30)); "
        "AutoRegressor().fit(X, np.sin(X[:, 0]))")
held = bytearray()
def read(fd):
    data = os.read(fd, 4096); held.extend(data); return data
with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
    pty.spawn([sys.executable, "-c", code], read)
assert b" s of about " in held, bytes(held)
""",
    "words for a regressor, a wrong kernel, an unknown setting": """
X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
refused(lambda: SVR().fit(X, ["a", "b"] * 30), "SVC")
text = refused(lambda: SVR(kernel="gausian").fit(X, y), "did you mean 'gaussian'")
names = re.findall("'([a-z_]+)'", text[text.index("Give"):])
assert names == sorted(names), names
pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv("s.csv", index=False)
arguments = ("fit", "s.csv", "--target", "y", "--machine", "SVR", "--set")
status, text = said(*arguments, "epsilom=1")
assert status and "epsilon" in text, text
""",
    "a message about gaps names machines of the same kind": """
X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
X[0, 0] = np.nan
text = refused(lambda: SVC().fit(X, y), "MissingInputClassifier")
assert "MissingInputRegressor" not in text and "SVR" not in text, text
hours = pd.DataFrame({"t": pd.to_timedelta(range(60), "h")})
from sklearn.svm import SVR as Theirs
ours, theirs = (one.fit(hours, y).predict(hours) for one in (SVR(), Theirs()))
np.testing.assert_allclose(ours, theirs, atol=1e-2)
""",
    "what is printed of a fit": """
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
text = str(SVC().fit(X, y).solution_)
assert not re.search("100 samples|300 samples", text), text
assert not re.search(r"e-1[0-9] %", text), text
with warnings.catch_warnings():
    warnings.simplefilter("error")
    SVC().fit(X, y)
""",
    "too few rows": """
pd.DataFrame({"a": [1.0, 2, 3], "y": [1.0, 2, 3]}).to_csv("three.csv", index=False)
status, text = said("fit", "three.csv", "--target", "y")
assert status and "10" in text, text
""",
}
ENGINEER = {
    "to_onnx(model, X), words, names of outputs": """
import onnxruntime
from mercer.io import to_onnx
X = pd.DataFrame({"a": rng.normal(size=80), "w": rng.choice(["u", "v"], 80)})
y = X["a"] + (X["w"] == "u")
model = AutoRegressor(members=["gaussian"]).fit(X, y)
graph = to_onnx(model, X)
session = onnxruntime.InferenceSession(graph.SerializeToString())
assert "prediction" in [one.name for one in session.get_outputs()]
feed = {name: X[[name]].to_numpy() for name in X}
feed["w"] = feed["w"].astype(object)
found = session.run(["prediction"], feed)[0].ravel()
np.testing.assert_allclose(found, model.predict(X), rtol=1e-8)
""",
    "float32 feeds": """
import onnxruntime
from mercer.io import to_onnx
X, y = rng.normal(size=(80, 3)).astype(np.float32), rng.normal(size=80)
model = SVR().fit(X, y)
session = onnxruntime.InferenceSession(to_onnx(model, X).SerializeToString())
name = session.get_inputs()[0].name
np.testing.assert_allclose(session.run(None, {name: X})[0].ravel(), model.predict(X), atol=1e-4)
""",
    "a report that leads with effects and has one importance": """
from mercer.datasets import load_auto_mpg
cars = load_auto_mpg(as_frame=True)
X, y = cars.data.iloc[:200], cars.target[:200]
page = mercer.report(AutoRegressor(members=["gaussian"]).fit(X, y), X, y).html
heads = re.findall("<h2[^>]*>(.*?)</h2>", page)
heads = [head.lower() for head in heads]
effect = next(k for k, head in enumerate(heads) if "moves" in head or "effect" in head)
kernel = [k for k, head in enumerate(heads) if "kernel" in head]
assert not kernel or effect < min(kernel), heads
words = re.sub("<pre.*?</pre>|<script.*?</script>", "", page, flags=re.S)
assert "ColumnTransformer(" not in words and "stands inside Pipeline" not in words
assert "is no sum over single rows" not in words
""",
}
READER = {
    "the pages that README names are whole": f"""
from pathlib import Path
root = Path({str(ROOT)!r})
readme = (root / "README.md").read_text()
assert len((root / "docs/explanation/benchmark.md").read_text().splitlines()) > 100
assert "mercer fit" in readme and "packages/mercer-studio" in readme
assert re.search("linear|sigmoid", readme) and re.search("trees", readme)
assert "LeaveOneOutSVC" not in readme
assert len(readme.splitlines()) < 190, len(readme.splitlines())
citation = (root / "CITATION.cff").read_text()
assert "version: 0.1" in citation and "date-released" in citation and "repository" in citation
for page in ("install.md", "cite.md", "faq.md", "limitations.md", "versions.md"):
    assert list(root.glob(f"docs/**/{{page}}")), page
for file in ("CODE_OF_CONDUCT.md", "SECURITY.md", ".github/ISSUE_TEMPLATE"):
    assert (root / file).exists(), file
text = (root / "docs/how-to/put-it-into-production.md").read_text()
assert "Dockerfile" in text and ".fit(" in text
""",
}
USERS = {"analyst": ANALYST, "scientist": SCIENTIST, "engineer": ENGINEER, "reader": READER}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--output", type=Path, help="a file that keeps the answers")
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = sys.executable if options.here else fresh(folder, "plot,data,cli,onnx")
        print("\n| user | complaint | now | s |\n| --- | --- | --- | ---: |")
        for user, complaints in USERS.items():
            for what, code in complaints.items():
                took, done = timed(python, START + code, folder)
                last = (done.stderr.strip().splitlines() or ["?"])[-1]
                answer = f"**{last[:400]}**" if done.returncode else "mended"
                found.append({"user": user, "complaint": what, "now": answer, **took._asdict()})
                print(f"| {user} | {what} | {answer} | {took.clock:.1f} |", flush=True)
    if options.output:
        record = {"environment": environment({"threads": 1}), "answers": found}
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(any(one["now"] != "mended" for one in found))


if __name__ == "__main__":
    sys.exit(main())
