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
}

MODELS = {
    "mlp": lambda: nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)
    ),
}


def replay(folder: Path, dtype: torch.dtype) -> np.ndarray:
    kind, optimizer = folder.name.split("-")
    model = MODELS[kind]().to(dtype)
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            value = torch.from_numpy(np.load(folder / f"w{number}.npy"))
            # situ's dense kernels are [inputs, outputs].
            value = value.T if value.ndim == 2 else value
            assert value.shape == parameter.shape, f"{folder.name}: {value.shape} for {parameter.shape}"
            parameter.copy_(value)
    step = OPTIMIZERS[optimizer](model.parameters())
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    losses = []
    for start in range(0, len(x), BATCH):
        inputs, labels = torch.from_numpy(x[start : start + BATCH]), torch.from_numpy(y[start : start + BATCH])
        loss = nn.functional.cross_entropy(model(inputs.to(dtype)), labels.long())
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    return np.array(losses)


def largest(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    cases = sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "losses.npy").exists())
    if not cases:
        print(f"no cases in {sys.argv[1]}")
        return 2
    torch.set_num_threads(1)
    failed = []
    print("| case | first loss | last loss | PyTorch's | from its f32 | from its f64 | its f32 from its f64 |")
    print("|---|---|---|---|---|---|---|")
    for folder in cases:
        ours = np.load(folder / "losses.npy")
        single, double = replay(folder, torch.float32), replay(folder, torch.float64)
        from_single, from_double, own = largest(ours, single), largest(ours, double), largest(single, double)
        if not min(from_single, from_double) <= LIMIT:
            failed.append(folder.name)
        print(
            f"| {folder.name} | {ours[0]:.5f} | {ours[-1]:.5f} | {single[-1]:.5f} "
            f"| {from_single:.1e} | {from_double:.1e} | {own:.1e} |"
        )
    print(f"\nLargest relative differences over {len(ours)} steps; PyTorch {torch.__version__}, the limit {LIMIT:.0e}")
    print(f"beyond it: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
