"""`make bench`: situ against its peers, in one interleaved run.

For each case the systems take turns in many short rounds, so that whatever else the machine is doing
falls on all of them alike. A round's figure is the median of its calls; a system's figure for a case
is the smallest of its rounds (printed), with the median of its rounds beside it.

A full run writes `results-LEVEL.md`, LEVEL being the instruction level that situ ran, so that the last run at each stands beside the
others; a partial one (`--cases`, `--systems`, `--threads`) only prints.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import cases
import report
import workers

FOLDER = pathlib.Path(__file__).resolve().parent

# Between rounds, so that each system finds the machine as idle as the others do.
SETTLE_SECONDS = 0.01


def arguments():
    parser = argparse.ArgumentParser(description="situ against its peers, in one interleaved run")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only the cases that match")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per case and system (15)")
    parser.add_argument("--millis", type=int, default=60, help="milliseconds per round (60)")
    parser.add_argument("--threads", default="1,2", help="thread counts, e.g. 1,2")
    parser.add_argument("--systems", default=",".join(workers.SYSTEMS), help="e.g. situ,torch")
    parser.add_argument("--json", metavar="FILE", help="write every round's figures there")
    parser.add_argument("--results", metavar="FILE", help="write the tables there, also of a partial run")
    options = parser.parse_args()
    options.threads = [int(n) for n in options.threads.split(",")]
    options.systems = options.systems.split(",")
    for system in options.systems:
        if system not in workers.SYSTEMS:
            parser.error(f"no system '{system}': there are {', '.join(workers.SYSTEMS)}")
    if not cases.select(options.cases) + cases.select_figures(options.cases):
        every = ", ".join(cases.CASES + cases.FIGURE_CASES)
        parser.error(f"no case matches '{options.cases}': there are {every}")
    if not all(0 < n <= len(os.sched_getaffinity(0)) for n in options.threads):
        parser.error(f"thread counts must be between 1 and this machine's {os.cpu_count()} cores")
    return options


def measure(running, case, options, failures):
    """Rounds of one case over all workers: {column: [round, ...]}, a column being `system[@way]`.

    A way of a peer that answers with an error is left out, and named in `failures`.
    """
    turns = []
    for worker in running:
        for offered in worker.cases:
            name, _, way = offered.partition("@")
            if name == case:
                turns.append((worker, offered, worker.system + (f"@{way}" if way else "")))
    rounds = {column: [] for _, _, column in turns}
    # A worker keeps one case at a time: a system's several ways run one after the other, in passes
    # over the systems, rather than being prepared anew in every round.
    passes = max(sum(worker is turn[0] for turn in turns) for worker in running)
    for index in range(passes):
        now = [[turn for turn in turns if turn[0] is worker] for worker in running]
        # A system with fewer ways runs its first one again, so that every pass is a comparison.
        now = [own[index] if index < len(own) else own[0] for own in now if own]
        for _ in range(options.rounds):
            for worker, offered, column in list(now):
                try:
                    rounds[column].append(worker.ask(f"run {offered} {options.millis}"))
                except workers.CaseError as error:
                    if worker.system == workers.OURS:
                        raise
                    now.remove((worker, offered, column))
                    failures.add(f"{column} {case} ({str(error)[:100]})")
                time.sleep(SETTLE_SECONDS)
    return {column: taken for column, taken in rounds.items() if taken}


def measure_figures(own, options):
    """Rounds of the cases of figures, which take turns among themselves: {case: [round, ...]}."""
    rounds = {}
    for worker in own:
        chosen = cases.select_figures(options.cases)
        for _ in range(options.rounds):
            for case in chosen:
                progress(f"{worker.threads} threads: {case}")
                rounds.setdefault(case, []).append(worker.ask(f"run {case} {options.millis}"))
                time.sleep(SETTLE_SECONDS)
    return rounds


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<50}\r", end="", file=sys.stderr, flush=True)


def warn_if_busy():
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the machine is busy (load {load:.1f}): the figures, most of all at 2 threads, will be rough",
              file=sys.stderr)


def main():
    options = arguments()
    warn_if_busy()
    program = workers.build_ours() if workers.OURS in options.systems else None
    systems = [s for s in options.systems if s != workers.OURS or program]
    if workers.OURS in options.systems and not program:
        print("no crate situ-bench yet: peers only", file=sys.stderr)
    results = {}
    figures = {}
    failures = set()
    versions = {}
    level = None
    for threads in options.threads:
        running = [workers.start(system, threads, program) for system in systems]
        versions |= {worker.system: worker.version for worker in running}
        level = next((worker.level for worker in running if worker.level), level)
        try:
            for case in cases.select(options.cases):
                progress(f"{threads} threads: {case}")
                results[case, threads] = measure(running, case, options, failures)
            if threads == max(options.threads):
                own = [worker for worker in running if worker.system == workers.OURS]
                figures = measure_figures(own, options)
        finally:
            for worker in running:
                worker.close()
    progress("")

    tables = "\n\n".join(filter(None, [report.tables(results, failures), report.figures(figures, max(options.threads))]))
    print(tables)
    if level:
        print(f"\nsitu ran {level}.")
    page = report.page(tables, versions, level, options)
    full = not options.cases and systems == workers.SYSTEMS and options.threads == [1, 2]
    for path in filter(None, [options.results, FOLDER / f"results-{level or 'unknown'}.md" if full else None]):
        pathlib.Path(path).write_text(page)
        print(f"written: {path}", file=sys.stderr)
    if options.json:
        rows = [{"case": case, "threads": threads, "rounds": rounds}
                for (case, threads), rounds in results.items()]
        rows += [{"case": case, "threads": max(options.threads), "rounds": {workers.OURS: rounds}}
                 for case, rounds in figures.items()]
        pathlib.Path(options.json).write_text(json.dumps({"versions": versions, "cases": rows}, indent=1))


if __name__ == "__main__":
    try:
        main()
    except workers.WorkerError as error:
        sys.exit(f"bench: {error}")
