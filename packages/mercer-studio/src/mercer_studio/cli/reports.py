"""Pages about models, beside what commands say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mercer import io
from mercer._lazily import lazily
from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer_studio.cli.memory import Memory
from mercer_studio.cli.models import Model
from mercer_studio.cli.refusals import Refusal
from mercer_studio.cli.tables import Read, read
from mercer_studio.cli.telling import Teller
from mercer_studio.cli.writing import writable

__all__ = ["page_at", "sample_of", "write_page"]

report_ = lazily("mercer_studio.reporting", "report")


def page_at(report: str | None, force: bool = False) -> Path | None:
    """Return where a page is to be written, refused before anything is fitted.

    Parameters
    ----------
    report : str, optional
        What was asked for.
    force : bool, default=False
        Whether a page that exists is overwritten.
    """
    if report is None:
        return None
    if Path(report).suffix.lower() not in (".html", ".htm"):
        raise Refusal(f"--report {report} must end in .html.")
    path = writable(report, force)
    return path


def write_page(
    path: Path,
    model: Model,
    X: PointsLike,
    y: TargetsLike,
    teller: Teller,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
) -> None:
    """Write the page about a model, :func:`mercer_studio.report`.

    Parameters
    ----------
    path : Path
        Where to write.
    model : Model
        The model.
    X, y : DataFrame or csr_matrix, and array
        The sample that it was fitted to.
    teller : Teller
        Where to say it.
    X_test, y_test : the same, optional
        Rows that it has not seen.
    """
    with teller.working("writing the report"):
        page = report_(model.pipeline, X, y, X_test, y_test, target=model.card.get("target"))
        page.save(path)
    teller.say(f"report: {path}, {path.stat().st_size / 1e3:.0f} kB")


def sample_of(
    model: Model, path: str, data: str, given: str | None, memory: Memory
) -> tuple[PointsLike, AnyArray]:
    """Return the sample that a saved model was fitted to, recognized by its digest.

    A model keeps the digest and the bare name of the file, not the rows. A file of this name is
    looked for beside the model, beside the new rows and in this folder.

    Parameters
    ----------
    model : Model
        The model.
    path, data : str
        Its file, and the file of new rows.
    given : str, optional
        The file of the sample, if it was named.
    memory : Memory
        What may be taken.
    """
    digest, name = io.describe(path).data_sha256, model.card.get("data")
    # A file of a model may say anything; a fit keeps a bare name, which leads to no other folder.
    if not isinstance(name, str) or name != Path(name).name or "\\" in name:
        name = None
    if digest is None or "target" not in model.card:
        raise Refusal(f"{path} does not say which rows it was fitted to; report it in Python.")
    for place in [given] if given is not None else _beside(name, path, data):
        X, y = _with_targets(model, read(place, memory, features=model.card.get("features")))
        if io.digest(X, y) == digest:
            return X, y
    tried = f"{given} does not hold" if given is not None else "there is no file of"
    raise Refusal(
        f"{tried} the rows that {path} was fitted to{f', {name}' if name else ''}; give the file "
        "with --sample."
    )


def _with_targets(model: Model, table: Read) -> tuple[PointsLike, AnyArray]:
    """Return features and targets of the rows that have a target, as a fit takes them."""
    if table.frame is not None:
        there = model.has_target(table)
        table = Read(table.path, table.frame[there].reset_index(drop=True))
    return model.features(table), model.targets(table)


def _beside(name: str | None, *files: str) -> Iterator[str]:
    folders = dict.fromkeys([*(Path(file).parent for file in files), Path()])
    yield from (str(f / name) for f in folders if name is not None and (f / name).is_file())
