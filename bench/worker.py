"""One peer at one thread count, as a process: `worker.py MODULE THREADS`.

Speaks the protocol of all workers, one line each way:

    info                 {"version": "2.15.0"}   (and from situ, "level": "avx2")
    list                 ["add_1m", "add_1m@out", ...]
    run CASE MILLIS      {"iterations": 812, "min_ns": 70012.0, "median_ns": 71550.5}

or {"error": "..."}. `run` repeats the case for about that long; the state of a case is kept until
another one is asked for.
"""

import importlib
import json
import os
import statistics
import sys
import time
import timeit
import traceback

# Short cases are timed in batches this long, so that reading the clock costs nothing.
BATCH_NS = 20_000


class Case:
    """A prepared case, warmed up, with the number of calls that one reading of the clock covers."""

    def __init__(self, name, prepare):
        self.name = name
        statement, names = prepare()
        self.timer = timeit.Timer(statement, timer=time.perf_counter_ns, globals=names)
        self.timer.timeit(3)
        quickest = min(self.timer.timeit(1) for _ in range(3))
        self.batch = max(1, round(BATCH_NS / max(quickest, 1)))

    def run(self, milliseconds):
        start = time.perf_counter_ns()
        end = start + milliseconds * 1_000_000
        # The other systems have had the caches since our last round.
        first = self.timer.timeit(self.batch)
        samples = []
        if first * 4 > milliseconds * 1_000_000:
            samples.append(first / self.batch)  # too long to throw away
        while not samples or time.perf_counter_ns() < end:
            samples.append(self.timer.timeit(self.batch) / self.batch)
        return {"iterations": len(samples) * self.batch, "min_ns": min(samples),
                "median_ns": statistics.median(samples)}


def main():
    # Replies have the real stdout to themselves: what a library prints goes to stderr.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    peer = importlib.import_module(f"peers.{sys.argv[1]}")
    offered = peer.cases(int(sys.argv[2]))
    current = None
    for line in sys.stdin:
        words = line.split()
        try:
            match words:
                case ["info"]:
                    reply = {"version": peer.VERSION}
                case ["list"]:
                    reply = list(offered)
                case ["run", name, milliseconds] if name in offered:
                    if current is None or current.name != name:
                        current = None  # frees the old case before the new one is made
                        current = Case(name, offered[name])
                    reply = current.run(int(milliseconds))
                case _:
                    reply = {"error": f"not understood: {line.strip()}"}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies)


if __name__ == "__main__":
    main()
