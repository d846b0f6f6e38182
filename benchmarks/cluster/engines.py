"""Dask, Ray and Spark below the same sums: overhead of tasks, passes and broadcasts, and recovery.

``python engines.py dask|ray|spark`` in an environment that has the engine; nothing of this library
is needed. Two worker processes, sixteen partitions of 1,000 x 10 numbers held by them; a pass sends
a vector and adds up X'(X v) in a tree of eights.
"""

import json
import os
import signal
import statistics
import sys
import time
from functools import reduce
from operator import add

import numpy as np
import psutil

PARTITIONS, ROWS, FEATURES, PASSES = 16, 1000, 10, int(os.environ.get("PASSES", "200"))
BROADCAST = 32 * 2**20


def rows(i):
    return np.random.default_rng(i).normal(size=(ROWS, FEATURES))


def product(X, v):
    return X.T @ (X @ v)


def fatal_product(X, v, file):
    """Take a file away and die, if it is there; whoever comes later finds none."""
    if os.path.exists(file):
        os.unlink(file)
        os.kill(os.getpid(), signal.SIGKILL)
    return product(X, v)


def added(*parts):
    return reduce(add, parts)


def nothing(i):
    return i


def size(value):
    return value.nbytes


def tree(parts, join):
    """Add up eight at a time."""
    while len(parts) > 1:
        parts = [join(parts[j : j + 8]) for j in range(0, len(parts), 8)]
    return parts[0]


def expected():
    v = np.ones(FEATURES)
    return sum(product(rows(i), v) for i in range(PARTITIONS))


def timed(call):
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def cpu():
    """Return the processor time of this process and all below it, in seconds."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def report(name, version, empty, one_pass, broadcast, recover, start):
    """Measure four things of an engine and print them as JSON."""
    v = np.ones(FEATURES)
    tasks = timed(empty)[0]
    first = one_pass(v)
    np.testing.assert_allclose(first, expected(), rtol=1e-10)
    for _ in range(5):
        one_pass(v)
    before = cpu()
    passes = [timed(lambda: one_pass(v))[0] for _ in range(PASSES)]
    work = (cpu() - before) / PASSES
    before = cpu()
    empty()
    tasks_work = cpu() - before
    spread = timed(broadcast)[0]
    again = timed(broadcast)[0]
    recovery, value = timed(recover)
    np.testing.assert_allclose(value, first, rtol=1e-10)
    result = {
        "engine": name,
        "version": version,
        "seconds to start": start,
        "a thousand empty tasks, seconds": min(tasks, timed(empty)[0]),
        "a thousand empty tasks, seconds of processors": tasks_work,
        "a pass, milliseconds": 1e3 * statistics.median(passes),
        "a pass, milliseconds of processors": 1e3 * work,
        "the quickest pass, milliseconds": 1e3 * min(passes),
        "the slowest pass, milliseconds": 1e3 * max(passes),
        "32 MB to two workers, seconds": min(spread, again),
        "a pass in which a worker is killed, seconds": recovery,
    }
    print(json.dumps(result, indent=1))


def with_dask(trap):
    import distributed

    begun = time.perf_counter()
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        start = time.perf_counter() - begun
        held = client.map(rows, range(PARTITIONS), pure=False)
        distributed.wait(held)

        def one_pass(v, work=product, *more):
            graph = {("part", i): (work, X, v, *more) for i, X in enumerate(held)}
            names = iter(range(10**6))

            def join(keys):
                key = ("sum", next(names))
                graph[key] = (added, *keys)
                return key

            root = tree(list(graph), join)
            token = time.time_ns()
            fresh = {k: (f"{k[0]}-{token}", k[1]) for k in graph}
            graph = {
                fresh[k]: tuple(fresh.get(a, a) if isinstance(a, tuple) else a for a in task)
                for k, task in graph.items()
            }
            return client.get(graph, fresh[root])

        def broadcast():
            value = client.submit(np.ones, BROADCAST // 8, pure=False)
            workers = list(client.scheduler_info()["workers"])
            sizes = [client.submit(size, value, workers=[w], pure=False) for w in workers]
            return client.gather(sizes)

        report(
            "dask",
            distributed.__version__,
            lambda: client.gather(client.map(nothing, range(1000), pure=False)),
            one_pass,
            broadcast,
            lambda: one_pass(np.ones(FEATURES), fatal_product, trap()),
            start,
        )


def with_ray(trap):
    import ray

    begun = time.perf_counter()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    remote = {f: ray.remote(max_retries=3)(f) for f in (rows, product, fatal_product, added, size)}
    empty = ray.remote(nothing)
    ray.get([empty.remote(i) for i in range(4)])
    start = time.perf_counter() - begun
    held = [remote[rows].remote(i) for i in range(PARTITIONS)]
    ray.wait(held, num_returns=PARTITIONS)

    def one_pass(v, work=product, *more):
        sent = ray.put(v)
        parts = [remote[work].remote(X, sent, *more) for X in held]
        return ray.get(tree(parts, lambda group: remote[added].remote(*group)))

    def broadcast():
        value = ray.put(np.ones(BROADCAST // 8))
        return ray.get([remote[size].remote(value) for _ in range(2)])

    report(
        "ray",
        ray.__version__,
        lambda: ray.get([empty.remote(i) for i in range(1000)]),
        one_pass,
        broadcast,
        lambda: one_pass(np.ones(FEATURES), fatal_product, trap()),
        start,
    )
    ray.shutdown()


def with_spark(trap):
    import pyspark
    from pyspark.sql import SparkSession

    begun = time.perf_counter()
    master = os.environ.get("SPARK_MASTER", "local-cluster[2,1,1024]")
    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.worker.reuse", "true")
        .getOrCreate()
    )
    context = session.sparkContext
    context.parallelize(range(2), 2).count()
    start = time.perf_counter() - begun
    held = context.parallelize(range(PARTITIONS), PARTITIONS).map(rows).cache()
    held.count()

    def one_pass(v, work=product, *more):
        sent = context.broadcast(v)
        parts = held.map(lambda X: work(X, sent.value, *more))
        value = parts.treeReduce(add, depth=2)
        sent.unpersist()
        return value

    def broadcast():
        value = context.broadcast(np.ones(BROADCAST // 8))
        return context.parallelize(range(2), 2).map(lambda _: size(value.value)).collect()

    report(
        "spark",
        pyspark.__version__,
        lambda: context.parallelize(range(1000), 1000).map(nothing).collect(),
        one_pass,
        broadcast,
        lambda: one_pass(np.ones(FEATURES), fatal_product, trap()),
        start,
    )
    session.stop()


def main():
    engine = sys.argv[1]
    file = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"engines-{os.getpid()}")

    def trap():
        with open(file, "w"):
            pass
        return file

    {"dask": with_dask, "ray": with_ray, "spark": with_spark}[engine](trap)


if __name__ == "__main__":
    main()
