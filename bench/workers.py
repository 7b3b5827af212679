"""Worker processes: how each system is started, and how to talk to it.

A worker is one system at one thread count, and speaks the protocol described in `worker.py`. Thread
counts go into the environment before the process starts, because OpenMP reads them at load time.

A worker that is not asked anything is stopped (SIGSTOP). Thread pools go on spinning after a call, on the
cores that the next system needs: ONNX Runtime's for some 40 ms, torch's for up to 10.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

PEERS = {"torch": "torch_eager", "tensorflow": "tensorflow_eager", "onnxruntime": "onnxruntime_session",
         "jax": "jax_jit"}
OURS = "situ"
SYSTEMS = [OURS, *PEERS]


class WorkerError(Exception):
    """A worker died, or answered a case with an error."""


class CaseError(WorkerError):
    """A worker answered a case with an error, and is still there."""


class Worker:
    """One running worker process."""

    def __init__(self, system, threads, command):
        self.system = system
        self.threads = threads
        self.log = tempfile.TemporaryFile(mode="w+")
        environment = os.environ | {
            name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, bufsize=1, env=environment,
                                        cwd=ROOT / "bench")
        self.stopped = False
        info = self.ask("info")
        self.version = info["version"]
        # Which of its instruction sets our system runs here; peers do not tell.
        self.level = info.get("level")
        self.cases = self.ask("list")

    def ask(self, line):
        """The answer to a line. The process runs from here until the answer is there."""
        self.resume()
        try:
            return self.answer(line)
        finally:
            self.stop()

    def answer(self, line):
        try:
            self.process.stdin.write(line + "\n")
            reply = self.process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise WorkerError(f"{self.system} with {self.threads} threads died at '{line}':\n{self.log_tail()}")
        answer = json.loads(reply)
        if isinstance(answer, dict) and "error" in answer:
            raise CaseError(f"{self.system} with {self.threads} threads at '{line}': {answer['error']}")
        return answer

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            self.stopped = True

    def resume(self):
        if self.stopped:
            self.process.send_signal(signal.SIGCONT)
            self.stopped = False

    def log_tail(self):
        self.log.seek(0)
        return "".join(self.log.readlines()[-20:])

    def close(self):
        self.resume()
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def build_ours():
    """Builds our worker; gives its path, or None where there is no such crate yet."""
    if not (ROOT / "crates" / "situ-bench" / "Cargo.toml").exists():
        return None
    command = [os.environ.get("CARGO", "cargo"), "build", "--release", "-p", "situ-bench",
               "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "situ-bench":
            return message["executable"]
    raise WorkerError("cargo built situ-bench but named no executable")


def start(system, threads, our_program):
    """Starts a worker for one system at one thread count."""
    if system == OURS:
        return Worker(system, threads, [our_program, str(threads)])
    return Worker(system, threads, [sys.executable, "worker.py", PEERS[system], str(threads)])
