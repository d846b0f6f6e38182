"""The commands and their options; what they do is imported when they run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from mercer._lazily import lazily
from mercer._optional import how_to_install
from mercer._version import __version__
from mercer_studio.cli.text import (
    Refusal,
    direction,
    duration,
    number_of,
    setting,
    share,
    size,
    visible,
)

compare_, demo_, evaluate_, export_, fit_, inspect_ = lazily(
    "mercer_studio.cli.commands", *("compare", "demo", "evaluate", "export", "fit", "inspect")
)
predict_ = lazily("mercer_studio.cli.predicting", "predict")
fit_on_cluster = lazily("mercer_studio.cli.commands", "fit_on_cluster")
memory_of = lazily("mercer_studio.cli.tables", "Memory")
teller_of = lazily("mercer_studio.cli.telling", "Teller")
wishes_of = lazily("mercer_studio.cli.models", "Wishes")

FORMATS = ("csv", "tsv", "parquet", "arrow", "feather", "svmlight")
DEMOS = ("mpg", "abalone", "concrete", "credit", "haberman", "votes")
EXAMPLES = "Examples:"


class Words(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A parameter that a function reads.

    Parameters
    ----------
    name : str
        What it is, in help.
    function : callable
        From text to a value, or a ValueError that says what is wrong.
    """

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name, self.function = name, function

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, or refuse the text."""
        if not isinstance(value, str):
            return value
        try:
            return self.function(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


DURATION = Words("DURATION", duration)
SIZE = Words("SIZE", size)
SHARE = Words("SHARE", share)
DIRECTION = Words("COLUMN:up|down", direction)
SETTING = Words("NAME=VALUE", setting)
NUMBER_OF = Words("COLUMN=NUMBER", number_of)


def _options(*added: Any) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        for option in reversed(added):
            command = option(command)
        return command

    return decorate


def common(action: Callable[..., Any]) -> Any:
    """Decorate an action that is given the memory it may take, enforced, and where to say things.

    Its other arguments are the options of the command, and what it returns is said to scripts.
    """

    @wraps(action)
    def session(memory_limit: float | None, as_json: bool, **given: Any) -> None:
        memory, teller = memory_of(memory_limit), teller_of(as_json)
        with memory.held_to():
            teller.finish(action(memory=memory, teller=teller, **given))

    return _options(
        click.option(
            "--memory-limit",
            type=SIZE,
            help="Take no more memory than this, such as 2GB: machines are made smaller, and "
            "what does not fit is refused.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Write one JSON object, for scripts."),
    )(session)


reading = _options(
    click.option("--format", type=click.Choice(FORMATS), help="Format, if the name does not tell."),
    click.option("--delimiter", help="Between the values of a text file; found by default."),
    click.option(
        "--encoding", help="Of a text file: utf-8, utf-16, latin-1, cp1252; recognized by default."
    ),
    click.option("--comment", help="Sign at the beginning of lines to leave out, such as '#'."),
)

force = click.option("--force", is_flag=True, help="Overwrite files that exist.")
reporting = click.option(
    "--report",
    type=click.Path(),
    help="Write a page about the model, such as report.html, to show to a colleague.",
)
question = _options(
    click.option(
        "--target",
        required=True,
        help="Column to predict. A text file without names has columns 1, 2, ...; that of an "
        "svmlight file is called target.",
    ),
    click.option("--task", type=click.Choice(["regression", "classification"])),
    click.option("--drop", multiple=True, help="Column to leave out."),
    click.option(
        "--categorical", multiple=True, help="Column whose numbers are names of categories."
    ),
    click.option(
        "--missing",
        "gaps",
        type=NUMBER_OF,
        multiple=True,
        help="Number that stands for missing cells of a column: pressure=0.",
    ),
    click.option(
        "--tune",
        "--budget",
        "seconds",
        type=DURATION,
        help="Time to look for hyperparameters, or for all machines that are stacked: 60s, 5m, 1h.",
    ),
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with 'mercer demo', which shows the commands on a small real table. "
    "Exit status: 0 done, 1 not possible, 2 the command was not understood.",
)
@click.version_option(__version__, prog_name="mercer")
def app() -> None:
    """Fit kernel machines to tables, predict with them and judge them, from files.

    Files of CSV, Parquet, Arrow and svmlight are read as they are: numbers, words, dates and gaps.
    """


def _command(examples: str) -> Callable[[Any], Any]:
    """Return a decorator for a command whose help ends with examples, one a line."""
    lines = "\n".join(f"  mercer {line.strip()}" for line in examples.strip().splitlines())
    return app.command(epilog=f"\b\n{EXAMPLES}\n{lines}")


@_command(
    """
    fit mpg.csv --target mpg --tune 2s --output quick.skops
    fit mpg.csv --target mpg --machine SVR --set C=10 --output svr.skops --report svr.html
    fit mpg.csv --target mpg --machine LSSVR --tune 5s --intervals 0.9 --output lssvr.skops
    fit mpg.csv --target mpg --monotone weight:down --drop origin --output down.skops
    """
)
@click.argument("data", type=click.Path())
@question
@click.option("--output", "-o", type=click.Path(), help="Where to save; DATA.skops by default.")
@click.option(
    "--machine",
    help="An estimator of mercer, such as SVC, LSSVR or AdditiveRegressor; AutoRegressor or "
    " AutoClassifier by default.",
)
@click.option("--set", "settings", type=SETTING, multiple=True, help="Parameter of the machine.")
@click.option(
    "--intervals", "coverage", type=SHARE, help="Probability of prediction intervals, such as 0.9."
)
@click.option(
    "--monotone",
    type=DIRECTION,
    multiple=True,
    help="Predictions rise or fall with a column: dose:up.",
)
@click.option(
    "--event",
    help="Column that is 1 where the target, a time, was reached, and 0 where waiting ended then.",
)
@click.option("--cluster", help="Address of a Dask scheduler whose workers read the file and fit.")
@reporting
@force
@reading
@common
def fit(cluster: str | None, report: str | None, **given: Any) -> Any:
    """Fit a model to DATA and save it.

    Task, preprocessing and machine are chosen from the data and said; the model is a pipeline of
    scikit-learn that 'mercer.io.load' reads in Python.
    """
    if cluster is None:
        return fit_(report=report, **_with_wishes(given))
    if report is not None:
        raise Refusal("--report cannot be had together with --cluster.")
    return fit_on_cluster(address=cluster, **_with_wishes(given))


def _with_wishes(given: dict[str, Any]) -> dict[str, Any]:
    """Return options with those of the fit as one value."""
    names = (
        "machine",
        "settings",
        "task",
        "seconds",
        "coverage",
        "monotone",
        "drop",
        "categorical",
        "event",
        "gaps",
    )
    asked = {name: given.pop(name) for name in names if name in given}
    pairs = {name: dict(asked[name]) for name in ("settings", "monotone", "gaps") if name in asked}
    return given | {"wishes": wishes_of(**asked | pairs)}


@_command(
    """
    predict mpg.skops mpg-new.csv
    predict mpg.skops mpg-new.csv --intervals 0.8 --output predicted.csv
    predict mpg.skops mpg-new.csv --keep model_year --output predicted.parquet
    """
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--output", "-o", help="CSV, Parquet or Arrow; the standard output by default.")
@click.option(
    "--intervals", "coverage", type=SHARE, help="Probability of prediction intervals, such as 0.9."
)
@click.option("--probabilities", is_flag=True, help="Write the probability of every class.")
@click.option("--keep", multiple=True, help="Column of DATA to write beside the predictions.")
@click.option(
    "--keep-formulas",
    "formulas",
    is_flag=True,
    help="Write text that begins like a formula (= + - @) as it is; by default an apostrophe "
    "goes before it in CSV, so that spreadsheets do not compute it.",
)
@force
@reading
@common
def predict(**given: Any) -> Any:
    """Predict the rows of DATA with a saved MODEL.

    Rows are read and written some thousands at a time: memory does not depend on their number.
    """
    return predict_(**given)


@_command(
    """
    evaluate mpg.skops mpg-new.csv
    evaluate mpg.skops mpg-new.csv --intervals 0.9 --json
    evaluate svr.skops mpg-new.csv --report tested.html
    """
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--target", help="Column of targets; that of the fit by default.")
@click.option(
    "--intervals", "coverage", type=SHARE, help="Probability of intervals to judge, such as 0.9."
)
@reporting
@click.option(
    "--sample",
    type=click.Path(),
    help="Table that the model was fitted to, for the report; looked for by its name by default.",
)
@force
@reading
@common
def evaluate(**given: Any) -> Any:
    """Judge a saved MODEL by the targets in DATA."""
    return evaluate_(**given)


@_command(
    """
    inspect mpg.csv
    inspect mpg.csv --target mpg
    inspect mpg.skops
    """
)
@click.argument("file", type=click.Path())
@click.option("--target", help="Column to predict, in data.")
@reading
@common
def inspect(**given: Any) -> Any:
    """Say what FILE holds: a model or a table."""
    return inspect_(**given)


@_command("compare mpg.csv --target mpg --machine SVR --machine LSSVR --folds 3")
@click.argument("data", type=click.Path())
@question
@click.option(
    "--machine", "machines", multiple=True, help="A machine, as in 'mercer fit'; give several."
)
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True)
@reading
@common
def compare(**given: Any) -> Any:
    """Compare machines on DATA by cross-validation."""
    return compare_(**_with_wishes(given))


@_command("export svr.skops svr.onnx")
@click.argument("model", type=click.Path())
@click.argument("output", type=click.Path(), required=False)
@click.option("-o", "to", type=click.Path(), help="Where to write, instead of OUTPUT.")
@click.option("--float32", is_flag=True, help="Single precision; double by default.")
@force
@common
def export(model: str, output: str | None, to: str | None, **given: Any) -> Any:
    """Write a saved MODEL as ONNX."""
    output = to or output or str(Path(model).with_suffix(".onnx"))
    return export_(model=model, output=output, **given)


@_command("demo")
@click.argument("name", type=click.Choice(DEMOS), default="mpg")
@click.option("--folder", type=click.Path(), default=".", help="Where files are written.")
@force
@common
def demo(memory: Any, **given: Any) -> Any:
    """Show the commands on a small real table."""
    return demo_(run=_shown, **given)


def _shown(arguments: Sequence[str], as_json: bool) -> Any:
    """Run a command of a demonstration and return what it says to scripts, if anything."""
    held = io.StringIO()
    with contextlib.redirect_stdout(held) if as_json else contextlib.nullcontext():
        status = run([*arguments, *(["--json"] if as_json else [])])
    if status:
        raise Refusal(f"'mercer {arguments[0]}' ended with status {status}.")
    return json.loads(held.getvalue()) if as_json else None


@_command(
    """
    studio
    studio mpg.csv
    """
)
@click.argument("data", type=click.Path(), required=False)
@click.option("--port", type=click.IntRange(1, 65535), help="Any that is free by default.")
@click.option("--no-browser", is_flag=True, help="Say the address and open no browser.")
@click.option("--memory-limit", type=SIZE, help="Memory that each process may take, such as 2GB.")
def studio(
    data: str | None, port: int | None, no_browser: bool, memory_limit: float | None
) -> None:
    """See, choose, fit and understand in the browser.

    The page is served to this machine only, under an address with a random token. It opens tables
    of this folder and below, and DATA at the beginning.
    """
    try:
        server = import_module("mercer_studio.browser.server")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("mercer"):
            raise
        raise ImportError(f"this needs {error.name}; {how_to_install('studio')}") from error
    server.serve(
        data, port=port or 0, memory=memory_of(memory_limit), browser=not no_browser, say=click.echo
    )


# The end of a command -----------------------------------------------------------------------------


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; whatever goes wrong ends in a sentence.

    Parameters
    ----------
    arguments : sequence of str
        Of the command line.
    """
    as_json = "--json" in arguments
    # Arrow's own allocator reserves a gigabyte at import, which --memory-limit would count.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        answer = app.main(list(arguments), prog_name="mercer", standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "mercer"
        return _end(f"{error.format_message()} See '{where} --help'.", 2, as_json)
    except (click.Abort, KeyboardInterrupt):
        return _end("interrupted.", 130, as_json)
    except MemoryError:
        return _end(
            "there is not enough memory for this; raise --memory-limit, or give fewer rows.",
            1,
            as_json,
        )
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not try to flush it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Refusal, ValueError, OSError, ImportError, click.ClickException) as error:
        return _end(str(error) or type(error).__name__, 1, as_json)
    except Exception as error:
        if os.environ.get("MERCER_DEBUG"):
            raise
        words = f"{type(error).__name__}: {error}"
        return _end(
            f"this should not have happened, please report it: {words}. (MERCER_DEBUG=1 shows "
            "where.)",
            1,
            as_json,
        )
    return answer if isinstance(answer, int) else 0


def _end(sentence: str, status: int, as_json: bool) -> int:
    words = " ".join(sentence.split())[:2000]
    if as_json:
        print(json.dumps({"error": words, "status": status}, ensure_ascii=True))
    print(f"mercer: {visible(words)}", file=sys.stderr)
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    Status 0: done; 1: not possible, with a sentence that says why; 2: the command itself was not
    understood.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.

    Returns
    -------
    int

    Examples
    --------
    >>> main(["inspect", "--help"])
    Usage: mercer inspect [OPTIONS] FILE
    ...
    0
    """
    return int(run(list(sys.argv[1:] if arguments is None else arguments)))
