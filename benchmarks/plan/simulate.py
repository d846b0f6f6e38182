"""A thousand workers that are not here: passes, reductions, stragglers, losses and restarts.

A pass is a task for every partition, and a tree that adds what they give, as in
``mercer.distributed``. Events happen in the order of their times; the scheduler is one server, a
worker does one thing at a time, and what a lost worker held is computed again, with everything it
was made of. Nothing is drawn but from the seed. What can be said on paper is said here as well
(`depth`, `largest`, `wasted`, `survived`), and the tests hold the simulation to it.
"""

import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import log_ndtr


@dataclass(frozen=True)
class Fleet:
    """A cluster and the passes it makes; times in seconds."""

    workers: int
    parts: int  # tasks of a pass, before any are added
    work: float  # mean time of one of them
    spread: float = 0.0  # standard deviation of its logarithm
    arity: int = 8  # how many results a task of the tree adds
    latency: float = 0.0  # of a transfer
    transfer: float = 0.0  # of one result over a worker's link
    add: float = 0.0  # of the sum of two results
    submit: float = 0.0  # of telling the scheduler of a task, before the pass begins
    message: float = 0.0  # that the scheduler takes for a task that has ended
    mtbf: float = math.inf  # mean time to the loss of a worker
    detect: float = 0.0  # until a loss is noticed
    reload: float = 0.0  # to read a partition that was lost
    move: float = 0.0  # to get a partition from who holds it
    join: float = math.inf  # from notice until there is a new worker in place of the lost one
    steal: bool = False  # the idle take tasks that wait elsewhere, and read their rows
    speculate: float = 1.0  # share of tasks done, from which on late ones are begun a second time
    late: float = 1.5  # how many times the median is late


@dataclass
class Pass:
    """What happened in a pass."""

    seconds: float = 0.0
    lost: int = 0  # workers
    again: int = 0  # tasks of partitions begun again because what they gave was lost
    copies: int = 0  # tasks begun a second time because they were late
    stolen: int = 0  # tasks done by others than those who held their rows
    busy: float = 0.0  # seconds of the scheduler


@dataclass
class _Task:
    inputs: list[int]
    parent: int
    state: str = "waiting"  # waiting, ready, running, held, added
    where: int = -1  # the worker that has it to do, does it or holds its result
    began: float = 0.0
    copy: int = -1  # who does it for a second time
    tries: int = 0
    known: bool = False  # to the scheduler, that there is a result


@dataclass
class _Worker:
    state: str = "alive"  # alive, lost, or gone: lost and noticed
    life: int = 0
    doing: int = -1
    todo: deque[int] = field(default_factory=deque)
    adds: deque[int] = field(default_factory=deque)


def tree(parts: int, arity: int) -> list[_Task]:
    """Return the tasks of partitions, then those that add up, the last of which is the sum."""
    tasks = [_Task([], -1) for _ in range(parts)]
    level = list(range(parts))
    while len(level) > 1:
        above = []
        for start in range(0, len(level), arity):
            inputs = level[start : start + arity]
            if len(inputs) == 1:
                above.append(inputs[0])
                continue
            for i in inputs:
                tasks[i].parent = len(tasks)
            above.append(len(tasks))
            tasks.append(_Task(inputs, -1))
        level = above
    return tasks


class Simulation:
    """Passes of a fleet, one after another: workers lost in one are missing in the next."""

    def __init__(self, fleet: Fleet, seed: int = 0) -> None:
        self.fleet, self.rng = fleet, np.random.default_rng(seed)
        self.now, self.numbers = 0.0, itertools.count()
        self.events: list[tuple[float, int, str, Any]] = []
        self.workers = [_Worker() for _ in range(fleet.workers)]
        self.holder = np.arange(fleet.parts) % fleet.workers  # who has the rows of a partition
        self.share = np.bincount(self.holder, minlength=fleet.workers)
        self.queue = np.zeros(fleet.workers, dtype=int)  # tasks that wait for each worker
        for w in range(fleet.workers):
            self._age(w)

    def run(self, passes: int = 1) -> list[Pass]:
        """Return what happened in each pass."""
        return [self._pass() for _ in range(passes)]

    def _pass(self) -> Pass:
        fleet, self.found = self.fleet, Pass()
        self.tasks = tree(fleet.parts, fleet.arity)
        self.done, self.times, self.hurry = 0, [], math.inf
        self.queue[:] = 0
        start = self.now
        self.server = start + fleet.submit * len(self.tasks)
        for worker in self.workers:
            worker.doing = -1
            worker.todo.clear()
            worker.adds.clear()
        # Losses and arrivals outlive a pass; nothing else does.
        self.events = [e for e in self.events if e[2] in ("lose", "notice", "join")]
        heapq.heapify(self.events)
        self._at(self.server, "begin", None)
        root, self.over = len(self.tasks) - 1, False
        while not self.over:
            time, _, kind, what = heapq.heappop(self.events)
            self.now = max(self.now, time)
            getattr(self, f"_{kind}")(what)
            if self.tasks[root].state == "held":
                self.over = True
        self.now += fleet.latency + fleet.transfer  # the sum goes to whoever asked
        self.found.seconds = self.now - start
        return self.found

    def _at(self, time: float, kind: str, what: Any) -> None:
        heapq.heappush(self.events, (time, next(self.numbers), kind, what))

    def _duration(self) -> float:
        s = self.fleet.spread
        return self.fleet.work * math.exp(s * self.rng.standard_normal() - s * s / 2)

    # What happens to a pass.

    def _begin(self, _: None) -> None:
        """Every partition's task goes to who has its rows, or to somebody else if that is lost."""
        for i in range(self.fleet.parts):
            self._place(i)

    def _place(self, i: int) -> None:
        """Put a task of a partition, or of the tree, into the queue of a worker."""
        task = self.tasks[i]
        if i < self.fleet.parts:
            w = int(self.holder[i])
            if self.workers[w].state == "gone":
                w = self._relief()
            task.state, task.where = "ready", w
            self.workers[w].todo.append(i)
            self.queue[w] += 1
            self._next(w)
        else:
            w = next(self.tasks[j].where for j in task.inputs)
            far = sum(self.tasks[j].where != w for j in task.inputs)
            task.state, task.where = "ready", w
            wait = (self.fleet.latency + far * self.fleet.transfer) * (far > 0)
            self._at(self.now + wait, "arrived", (i, w, self.workers[w].life, task.tries))

    def _relief(self) -> int:
        """Return the living worker with the least to do."""
        living = [w for w, worker in enumerate(self.workers) if worker.state == "alive"]
        if not living:
            raise RuntimeError("all workers are lost and none has joined; shorten join")
        return min(living, key=lambda w: len(self.workers[w].todo) + (self.workers[w].doing >= 0))

    def _arrived(self, what: tuple[int, int, int, int]) -> None:
        i, w, life, tries = what
        if self.workers[w].life == life and self.tasks[i].tries == tries:
            self.workers[w].adds.append(i)
            self._next(w)

    def _next(self, w: int) -> None:
        """Let an idle worker begin what it has to do, sums first: they set memory free."""
        worker = self.workers[w]
        if worker.doing >= 0 or worker.state != "alive":
            return
        if worker.adds:
            i = worker.adds.popleft()
            time = self.fleet.add * (len(self.tasks[i].inputs) - 1)
        elif worker.todo or (self.fleet.steal and self._steal(w)):
            i = worker.todo.popleft()
            self.queue[w] -= 1
            time = self._duration()
            if self.holder[i] != w:
                time += self.fleet.reload if self._gone(i) else self.fleet.move
                if self.share[w] < self.share[self.holder[i]] or self._gone(i):
                    self.share[self.holder[i]] -= 1
                    self.share[w] += 1
                    self.holder[i] = w
        else:
            return
        task = self.tasks[i]
        task.state, task.began, worker.doing = "running", self.now, i
        self._at(self.now + time, "finish", (i, w, worker.life, task.tries))
        if i < self.fleet.parts and self.hurry < math.inf:
            self._at(self.now + self.hurry, "look", i)

    def _gone(self, i: int) -> bool:
        return self.workers[self.holder[i]].state == "gone"

    def _steal(self, w: int) -> bool:
        """Take the last task of whoever has most of them waiting."""
        other = int(self.queue.argmax())
        if self.queue[other] == 0 or self.workers[other].state != "alive":
            return False
        i = self.workers[other].todo.pop()
        self.queue[other] -= 1
        self.queue[w] += 1
        self.workers[w].todo.append(i)
        self.tasks[i].where = w
        self.found.stolen += 1
        return True

    def _finish(self, what: tuple[int, int, int, int]) -> None:
        i, w, life, tries = what
        worker, task = self.workers[w], self.tasks[i]
        if worker.life != life or worker.doing != i:
            return
        worker.doing = -1
        if task.tries == tries and task.state == "running":
            other = task.where if task.copy == w else task.copy
            if other >= 0 and self.workers[other].doing == i:
                self.workers[other].doing = -1  # the other copy is told to stop
                self._next(other)
            task.state, task.where, task.copy = "held", w, -1
            for j in task.inputs:
                self.tasks[j].state = "added"
            if i < self.fleet.parts:
                self.times.append(self.now - task.began)
                self.done += 1
                if self.hurry == math.inf and self.done >= self.fleet.speculate * self.fleet.parts:
                    self.hurry = self.fleet.late * float(np.median(self.times))
                    for j in range(self.fleet.parts):
                        if self.tasks[j].state == "running":
                            self._at(max(self.now, self.tasks[j].began + self.hurry), "look", j)
            self.server = max(self.server, self.now) + self.fleet.message
            self.found.busy += self.fleet.message
            self._at(self.server, "heard", (i, task.tries))
        self._next(w)

    def _heard(self, what: tuple[int, int]) -> None:
        """The scheduler knows of a result: what it was the last input of can begin."""
        i, tries = what
        task = self.tasks[i]
        if task.tries != tries or task.state != "held" or task.parent < 0:
            return
        task.known = True
        parent = self.tasks[task.parent]
        if parent.state == "waiting" and self._whole(parent):
            self._place(task.parent)

    def _whole(self, task: _Task) -> bool:
        return all(self.tasks[j].state == "held" and self.tasks[j].known for j in task.inputs)

    def _look(self, i: int) -> None:
        """Begin a late task a second time, where somebody is idle."""
        task = self.tasks[i]
        if task.state != "running" or task.copy >= 0:
            return
        for w, worker in enumerate(self.workers):
            if worker.state == "alive" and worker.doing < 0 and not worker.todo and not worker.adds:
                task.copy, worker.doing = w, i
                self.found.copies += 1
                time = self._duration() + self.fleet.move
                self._at(self.now + time, "finish", (i, w, worker.life, task.tries))
                return
        self._at(self.now + self.hurry / 4, "look", i)

    # What happens to workers.

    def _age(self, w: int) -> None:
        if self.fleet.mtbf < math.inf:
            time = self.now + self.rng.exponential(self.fleet.mtbf)
            self._at(time, "lose", (w, self.workers[w].life))

    def _lose(self, what: tuple[int, int]) -> None:
        w, _ = what
        worker = self.workers[w]
        worker.state = "lost"
        worker.life += 1
        self.found.lost += 1
        self._at(self.now + self.fleet.detect, "notice", w)

    def _notice(self, w: int) -> None:
        worker = self.workers[w]
        worker.state, worker.doing, self.queue[w] = "gone", -1, 0
        worker.todo.clear()
        worker.adds.clear()
        if self.fleet.join < math.inf:
            self._at(self.now + self.fleet.join, "join", w)
        for i, task in enumerate(self.tasks):
            if task.copy == w:
                task.copy = -1
            if task.where == w and task.state in ("ready", "running", "held"):
                if task.copy >= 0 and task.state == "running":
                    task.where, task.copy = task.copy, -1
                elif task.state != "held" or self._wanted(task):
                    self._redo(i)

    def _wanted(self, task: _Task) -> bool:
        return task.parent < 0 or self.tasks[task.parent].state in ("waiting", "ready")

    def _redo(self, i: int) -> None:
        """Compute a result again, and first what it was made of, as far as that is gone."""
        task = self.tasks[i]
        if i < self.fleet.parts:
            self.found.again += task.state != "ready"
            self.done -= task.state in ("held", "added")
        if task.where >= 0 and self.workers[task.where].doing == i:
            self.workers[task.where].doing = -1
        task.tries, task.copy, task.known = task.tries + 1, -1, False
        task.state = "waiting"
        parent = self.tasks[task.parent] if task.parent >= 0 else None
        if parent is not None and parent.state == "ready":
            self._redo(task.parent)
        if i < self.fleet.parts:
            self._place(i)
            return
        gone = [
            j
            for j in task.inputs
            if self.tasks[j].state == "added"
            or (self.tasks[j].state == "held" and self.workers[self.tasks[j].where].state == "gone")
        ]
        for j in gone:
            self._redo(j)
        if self._whole(task):
            self._place(i)

    def _join(self, w: int) -> None:
        self.workers[w].state = "alive"
        self._age(w)
        self._next(w)


def fit(fleet: Fleet, passes: int, seed: int = 0) -> dict[str, float]:
    """Return what a fit of some passes took, all told."""
    found = Simulation(fleet, seed).run(passes)
    times = np.array([p.seconds for p in found])
    return {
        "seconds": float(times.sum()),
        "median": float(np.median(times)),
        "slowest": float(times.max()),
        "lost": sum(p.lost for p in found),
        "again": sum(p.again for p in found),
        "copies": sum(p.copies for p in found),
        "stolen": sum(p.stolen for p in found),
        "busy": sum(p.busy for p in found) / float(times.sum()),
    }


def client(
    passes: int, seconds: float, mtbf: float, restart: float, every: int, seed: int
) -> float:
    """Return the time of a fit whose client is lost at random and goes on from its last record."""
    rng = np.random.default_rng(seed)
    now, kept = 0.0, 0
    while kept < passes:
        step = min(every, passes - kept)
        life = rng.exponential(mtbf)
        if life >= step * seconds:
            now, kept = now + step * seconds, kept + step
        else:
            now += life + restart
    return now


# The same on paper.


def depth(parts: int, arity: int) -> int:
    """Return the number of levels of the tree above the partitions."""
    levels = 0
    while parts > 1:
        parts, levels = -(-parts // arity), levels + 1
    return levels


def calm(fleet: Fleet) -> float:
    """Return the time of a pass without stragglers, losses or a busy scheduler."""
    time = -(-fleet.parts // fleet.workers) * fleet.work + fleet.latency + fleet.transfer
    left = fleet.parts
    while left > 1:
        others = min(left, fleet.arity) - 1
        time += fleet.latency + others * (fleet.transfer + fleet.add)
        left = -(-left // fleet.arity)
    return time


def largest(workers: int, each: int, spread: float) -> float:
    """Return the expected longest sum of `each` log-normal times of mean one, over the workers.

    The sum is taken for a log-normal of the same mean and variance, which it is for one time.
    """
    s = math.sqrt(math.log1p(math.expm1(spread**2) / each))
    if s == 0.0:
        return float(each)

    def beyond(x: float) -> float:
        return -math.expm1(workers * float(log_ndtr((math.log(x) + s * s / 2) / s)))

    top = math.exp(s * 9.0)
    middle = math.exp(s * math.sqrt(2 * math.log(workers + 1)))
    found = quad(beyond, 0.0, middle, limit=200)[0] + quad(beyond, middle, top, limit=200)[0]
    return each * float(found)


def wasted(fleet: Fleet) -> float:
    """Return how many tasks of a pass are expected to be begun in vain, losses being rare.

    A worker with q tasks of time t that is lost in its j-th took j of them with it.
    """
    q, rate = fleet.parts // fleet.workers, fleet.work / fleet.mtbf
    j = np.arange(q)
    return float(fleet.workers * np.sum((j + 1) * (np.exp(-rate * j) - np.exp(-rate * (j + 1)))))


def survived(passes: int, seconds: float, mtbf: float, restart: float, every: int) -> float:
    """Return the expected time of a fit whose client is lost at random: Daly's formula."""
    whole, rest = divmod(passes, every)
    steps = [every * seconds] * whole + [rest * seconds] * (rest > 0)
    return sum((mtbf + restart) * math.expm1(step / mtbf) for step in steps)


def troubles(fleet: Fleet) -> dict[str, Fleet]:
    """Return the fleet with everything, and without one trouble at a time."""
    return {
        "as it is": fleet,
        "no stragglers": replace(fleet, spread=0.0),
        "no losses": replace(fleet, mtbf=math.inf),
        "a scheduler that takes no time": replace(fleet, submit=0.0, message=0.0),
        "transfers that take no time": replace(fleet, latency=0.0, transfer=0.0),
        "late tasks begun twice": replace(fleet, speculate=0.75),
        "the idle take what waits": replace(fleet, steal=True),
        "both": replace(fleet, steal=True, speculate=0.75),
        "none of these": replace(
            fleet, spread=0.0, mtbf=math.inf, submit=0.0, message=0.0, latency=0.0, transfer=0.0
        ),
    }
