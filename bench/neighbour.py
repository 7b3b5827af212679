"""Two threads beside a busy neighbour: situ and torch alone, beside a loop pinned to a core, and beside a free one.

    .venv/bin/python bench/neighbour.py [REGEX]

The figure is the mean time of a call, of all the time that a worker was busy with a case: who shares a core is mostly
as quick as ever, and now and then has to wait for a slice of the scheduler, which neither a minimum nor a median shows.
"""

import subprocess
import sys
import time

import cases
import workers

THREADS = 2
ROUNDS = 6
MILLIS = 100
CASES = "^(matmul_256x256x256|matmul_1024x1024x1024|add_1m|conv2d_1x64x56x64x3x1|dense_step_32|cnn_step_64)$"
LOOP = [sys.executable, "-c", "while True: pass"]
NEIGHBOURS = {"alone": None, "one pinned": ["taskset", "-c", "0", *LOOP], "one free": LOOP}


def means(running, case):
    """Microseconds a call, by system; the first round makes inputs, and does not count."""
    spent, calls = {}, {}
    for number in range(ROUNDS):
        for worker in running:
            start = time.perf_counter()
            answer = worker.ask(f"run {case} {MILLIS}")
            if number > 0:
                spent[worker.system] = spent.get(worker.system, 0) + time.perf_counter() - start
                calls[worker.system] = calls.get(worker.system, 0) + answer["iterations"]
    return {system: spent[system] / calls[system] * 1e6 for system in spent}


def main():
    program = workers.build_ours()
    running = [workers.start(system, THREADS, program) for system in (workers.OURS, "torch")]
    print("| neighbour | case | situ, µs | torch, µs | torch / situ |\n|---|---|---|---|---|")
    try:
        for name, command in NEIGHBOURS.items():
            neighbour = command and subprocess.Popen(command)
            try:
                for case in cases.select(sys.argv[1] if len(sys.argv) > 1 else CASES):
                    ours, theirs = means(running, case).values()
                    print(f"| {name} | {case} | {ours:.0f} | {theirs:.0f} | {theirs / ours:.2f} |", flush=True)
            finally:
                if neighbour:
                    neighbour.kill()
                    neighbour.wait()
    finally:
        for worker in running:
            worker.close()


if __name__ == "__main__":
    main()
