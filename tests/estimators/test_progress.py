"""Callbacks, and the bar that shows the gap falling."""

import io
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimators.twins import sample
from mercer import (
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVR,
    OneClassSVM,
)
from mercer.solvers import Status

X, Y, Z, T = sample()
MACHINES = [SVC(), SVR(), NuSVR(), OneClassSVM(), KernelRegressor(), KernelClassifier(),
            KernelLogisticRegression()]  # fmt: skip


def kind(machine):
    return type(machine).__name__


class Recorder:
    """A callback that writes down what it is told, and stops where it is asked to."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, None))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, None))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.events.append(("begin", context.task_name, metadata))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.events.append(("end", context.task_name, metadata))
        if context.task_name == "fit" and context.source_estimator_name is None:
            self.machine = fitted_estimator
        return context.task_name == self.stop_at

    @property
    def reports(self):
        return [m for event, name, m in self.events if (event, name) == ("end", "iteration")]


class Travelling(Recorder):
    """The same, handed down by searches and pipelines."""

    max_propagation_depth = None


@pytest.mark.skipif(not hasattr(SVC, "set_callbacks"), reason="scikit-learn 1.9 has callbacks")
class TestCallbacks:
    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_reports(self, machine):
        recorder = Recorder()
        y = Y if "class_weight" in machine.get_params() else Z
        fitted = clone(machine).set_params(tol=1e-6).set_callbacks(recorder).fit(X, y)
        reports = recorder.reports
        assert reports
        assert all(
            {"iteration", "objective", "gap", "violation", "elapsed"} == m.keys() for m in reports
        )
        assert [m["iteration"] for m in reports] == [p.iteration for p in fitted.solution_.history]
        assert reports[-1]["objective"] == pytest.approx(fitted.solution_.history[-1].objective)
        assert all(m["elapsed"] >= 0 for m in reports)
        assert recorder.events[0][0] == "setup"
        assert recorder.events[-1][0] == "teardown"
        begins = [name for event, name, _ in recorder.events if event == "begin"]
        ends = [name for event, name, _ in recorder.events if event == "end"]
        assert sorted(begins) == sorted(ends)

    def test_the_gap_falls(self):
        recorder = Recorder()
        SVC(tol=1e-8, C=10.0).set_callbacks(recorder).fit(X, Y == "a")
        gaps = [m["gap"] for m in recorder.reports]
        assert gaps[-1] < 1e-4 * gaps[0]

    def test_problems_have_names(self):
        recorder = Recorder()
        SVC().set_callbacks(recorder).fit(X, Y)
        names = {name for event, name, _ in recorder.events if event == "begin"}
        assert {"fit", "a or b", "a or c", "b or c", "iteration"} == names

    def test_no_callback_changes_nothing(self):
        # Without one the pairs are solved together: sums in another order.
        np.testing.assert_allclose(
            SVC().set_callbacks(Recorder()).fit(X, Y).decision_function(T),
            SVC().fit(X, Y).decision_function(T),
            rtol=1e-12,
        )

    @pytest.mark.parametrize("machine", MACHINES, ids=kind)
    def test_stop_inside_a_solver(self, machine):
        """Each problem stops at its first report; what there is can be used."""
        y = Y if "class_weight" in machine.get_params() else Z
        fitted = clone(machine).set_params(tol=1e-8).set_callbacks(Recorder("iteration")).fit(X, y)
        n_problems = 3 if y is Y else 1
        assert len(fitted.solution_.history) == n_problems
        assert fitted.solution_.status in (Status.STOPPED, Status.CONVERGED)
        assert np.all(np.isfinite(getattr(fitted, "decision_function", fitted.predict)(T)))

    def test_stop_between_problems(self):
        """The first pair is solved, the others end at their first report."""
        fitted = SVC(tol=1e-8).set_callbacks(Recorder("a or b")).fit(X, Y)
        full = SVC(tol=1e-8).fit(X, Y)
        assert fitted.n_iter_[0] == full.n_iter_[0]
        assert np.all(fitted.n_iter_[1:] < full.n_iter_[1:])
        assert fitted.solution_.status is Status.STOPPED
        assert fitted.fit_status_ == 1
        assert fitted.predict(T).shape == (25,)

    def test_errors_of_a_callback_are_errors_of_the_fit(self):
        class Broken(Recorder):
            def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
                if context.task_name == "iteration":
                    raise RuntimeError("broken")

        machine = SVC().fit(X, Y)
        expected, broken = machine.decision_function(T), Broken()
        with pytest.raises(RuntimeError, match="broken"):
            machine.set_callbacks(broken).fit(X[:30], Y[:30])
        np.testing.assert_array_equal(machine.decision_function(T), expected)
        assert broken.events[-1][0] == "teardown"
        assert not hasattr(machine, "_callback_fit_ctx")

    def test_search_and_pipeline_hand_them_down(self):
        recorder = Travelling()
        pipeline = make_pipeline(StandardScaler(), SVC())
        search = GridSearchCV(pipeline, {"svc__C": [1.0, 2.0]}, cv=2).set_callbacks(recorder)
        search.fit(X, Y == "a")
        # Two candidates times two folds, and the refit.
        assert sum(e == ("begin", "problem", None) for e in recorder.events) == 5
        assert len(recorder.reports) >= 5
        assert sum(event == "setup" for event, *_ in recorder.events) == 1

    def test_progress_bar(self, capsys):
        from sklearn.callback import ProgressBar

        search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2)
        search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, Y)
        out = capsys.readouterr().out
        assert "SVC - a or b" in out
        assert "100%" in out
        SVR().set_callbacks(ProgressBar()).fit(X, Z)
        assert "SVR - fit" in capsys.readouterr().out

    @pytest.mark.parametrize("weights", [None, np.linspace(0.1, 2.0, 60)], ids=["", "weights"])
    def test_scoring_monitor(self, weights):
        """It scores the finished machine on the data, with the weights of the fit."""
        from sklearn.callback import ScoringMonitor

        monitor = ScoringMonitor(scoring="accuracy")
        machine = SVC().set_callbacks(monitor).fit(X, Y, sample_weight=weights)
        (row,) = monitor.get_logs().data
        assert row["accuracy"] == machine.score(X, Y, sample_weight=weights)
        assert row["task_name"] == "fit"

    def test_the_finished_machine_is_handed_over(self):
        recorder = Recorder()
        fitted = SVC().set_callbacks(recorder).fit(X, Y)
        np.testing.assert_array_equal(
            recorder.machine.decision_function(T), fitted.decision_function(T)
        )


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestBar:
    def test_silent_by_default(self, capsys):
        SVC().fit(X, Y)
        out, err = capsys.readouterr()
        assert (out, err) == ("", "")

    def test_plain_lines_elsewhere(self, capsys):
        fitted = SVC(verbose=1).fit(X, Y)
        out, err = capsys.readouterr()
        assert out == ""
        assert "\r" not in err
        assert "\033" not in err
        *lines, end = err.splitlines()
        assert end == f"SVC: {fitted.solution_.summary()[0]}"
        assert end.startswith("SVC: converged: objective ")
        assert lines[0].startswith("SVC a or b: ")
        number = r"[-+.\d]+(e[-+]\d+)?"
        pattern = rf"SVC \w or \w: iteration \d+, objective {number}, gap {number}, \d+\.\d s"
        assert all(re.fullmatch(pattern, line) for line in lines)
        # The last line of each pair says where it ended.
        assert f"iteration {fitted.n_iter_[-1]}, " in lines[-1]

    def test_live_line_on_a_terminal(self, monkeypatch):
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        SVR(verbose=True, tol=1e-8).fit(X, Z)
        text = terminal.getvalue()
        assert text.startswith("\rSVR: iteration ")
        bar, end = text.removesuffix("\n").split("\n")
        assert bar.count("\r") > 1
        assert end.startswith("SVR: converged: ")
