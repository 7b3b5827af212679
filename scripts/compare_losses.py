#!/usr/bin/env python3
"""Trains with PyTorch what situ trained (same weights, batches and optimizers), and compares the losses of 100 steps.

    cargo run --release -p situ-bench --bin losses -- target/losses
    .venv/bin/python scripts/compare_losses.py target/losses

PyTorch trains in f32, as situ does, and in f64, which both round. Its own two runs may part by more than the limit (a gradient that is nothing but
rounding is a whole step to RMSprop; a loss near 0 is a difference of near numbers), so that following either one is following it. Ends with 1 if the
losses of a case differ by more than 1e-4 from both.
`scripts/peers.sh` makes .venv.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

LIMIT = 1e-4
BATCH = 32

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
    "descent": lambda p: torch.optim.SGD(p, lr=0.5),
    "lazy": lambda p: torch.optim.Adam(p, lr=1e-2),
}

# What changes a table whose gradient is rows, where that is another optimizer.
OF_ROWS = {"lazy": lambda p: torch.optim.SparseAdam(p, lr=1e-2)}

MODELS = {
    "mlp": lambda: nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)
    ),
    "words": lambda: nn.Sequential(nn.Embedding(50_000, 64, sparse=True), nn.Flatten(), nn.Linear(512, 10)),
}


def replay(folder: Path, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray | None]:
    """The losses, and the table of words in the end, if the model has one."""
    kind, optimizer = folder.name.split("-")
    model = MODELS[kind]().to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            value = torch.from_numpy(np.load(folder / f"w{number}.npy"))
            # situ's dense kernels are [inputs, outputs].
            is_table = kind == "words" and number == 0
            value = value.T if value.ndim == 2 and not is_table else value
            assert value.shape == parameter.shape, f"{folder.name}: {value.shape} for {parameter.shape}"
            parameter.copy_(value)
    parameters = list(model.parameters())
    steps = [OPTIMIZERS[optimizer](parameters)]
    if optimizer in OF_ROWS:
        steps = [OF_ROWS[optimizer](parameters[:1]), OPTIMIZERS[optimizer](parameters[1:])]
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    losses = []
    for start in range(0, len(x), BATCH):
        inputs, labels = torch.from_numpy(x[start : start + BATCH]), torch.from_numpy(y[start : start + BATCH])
        inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs.long()
        loss = nn.functional.cross_entropy(model(inputs), labels.long())
        for step in steps:
            step.zero_grad()
        loss.backward()
        for step in steps:
            step.step()
        losses.append(loss.item())
    return np.array(losses), parameters[0].detach().numpy() if kind == "words" else None


def largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))


def apart(folder: Path, table: np.ndarray) -> float:
    return float(np.max(np.abs(np.load(folder / "end.npy") - table)))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    cases = sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "losses.npy").exists())
    if not cases:
        print(f"no cases in {sys.argv[1]}")
        return 2
    torch.set_num_threads(1)
    failed, tables = [], []
    print("| case | first loss | last loss | PyTorch's | from its f32 | from its f64 | its f32 from its f64 |")
    print("|---|---|---|---|---|---|---|")
    for folder in cases:
        ours = np.load(folder / "losses.npy")
        (single, table), (double, exact) = replay(folder, torch.float32), replay(folder, torch.float64)
        from_single, from_double, own = largest(ours, single), largest(ours, double), largest(single, double)
        if not min(from_single, from_double) <= LIMIT:
            failed.append(folder.name)
        if table is not None:
            tables.append(f"{folder.name}: {apart(folder, table):.1e} from its f32, {apart(folder, exact):.1e} from its f64")
            if not min(apart(folder, table), apart(folder, exact)) <= LIMIT:
                failed.append(f"the table of {folder.name}")
        print(
            f"| {folder.name} | {ours[0]:.5f} | {ours[-1]:.5f} | {single[-1]:.5f} "
            f"| {from_single:.1e} | {from_double:.1e} | {own:.1e} |"
        )
    print(f"\nLargest relative differences over {len(ours)} steps; PyTorch {torch.__version__}, the limit {LIMIT:.0e}")
    print("Tables of words in the end, the largest difference of an element:", *tables, sep="\n  ")
    print(f"beyond it: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
