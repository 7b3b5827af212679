"""Figures of a run as tables: pure functions over {(case, threads): {column: [round, ...]}}.

A ratio is the best peer's time over ours: above 1 we are the quicker.
"""

import math
import pathlib
import platform
import statistics

import cases
from workers import OURS, SYSTEMS


def best_round(rounds):
    """The smallest of the rounds' medians: what the machine can do when it is left alone."""
    return min(r["median_ns"] for r in rounds)


def middle_round(rounds):
    """The median of the rounds' medians: what it did."""
    return statistics.median(r["median_ns"] for r in rounds)


def comparable(column):
    return column.partition("@")[2] not in cases.NOT_COMPARABLE


def quickest(columns, figure, chosen):
    """The quickest comparable column of the systems that `chosen` allows: (column, nanoseconds), or None."""
    times = {column: figure(rounds) for column, rounds in columns.items()
             if comparable(column) and chosen(column.partition("@")[0])}
    return min(times.items(), key=lambda item: item[1]) if times else None


def ratio(columns, figure):
    """The best peer's time over ours, each in its quickest way; None if either is missing."""
    peer = quickest(columns, figure, lambda system: system != OURS)
    ours = quickest(columns, figure, lambda system: system == OURS)
    return peer[1] / ours[1] if peer and ours else None


def microseconds(nanoseconds):
    us = nanoseconds / 1000
    return f"{us:.0f}" if us >= 1000 else f"{us:.3g}"


def cell(case, columns, column):
    if column not in columns:
        return "–"
    time = best_round(columns[column])
    rate = cases.rate(case, time)
    return microseconds(time) + (f" ({rate:.0f})" if rate else "")


def system_cell(case, columns, system):
    """A system's quickest comparable way, named where there are several."""
    found = quickest(columns, best_round, lambda other: other == system)
    if not found:
        return "–"
    way = found[0].partition("@")[2]
    return cell(case, columns, found[0]) + (f" {way}" if way else "")


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(v) for v in values))


def markdown(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def table(chosen, title):
    """A table of the cases chosen, {case: columns}, with its title and a line of geometric means."""
    present = {column.partition("@")[0] for columns in chosen.values() for column in columns}
    peers = [system for system in SYSTEMS if system != OURS and system in present]
    extras = sorted({c for columns in chosen.values() for c in columns if not comparable(c)})
    ours = [OURS] if OURS in present else []
    limited = any(case in cases.LIMITS for case in chosen)
    rows = [["case", *ours, *peers, *[e.replace("@", ", ").replace("_", " ") for e in extras],
             *(["best peer / situ", "of medians"] if ours else []), *(["must be"] if limited else [])]]
    for case, columns in chosen.items():
        row = [case, *[system_cell(case, columns, s) for s in ours + peers],
               *[cell(case, columns, c) for c in extras]]
        if ours:
            both = [ratio(columns, figure) for figure in (best_round, middle_round)]
            row += [f"{r:.2f}" if r else "–" for r in both]
        if limited:
            row.append(f"{cases.LIMITS[case]:g}" if case in cases.LIMITS else "")
        rows.append(row)
    lines = [f"### {title}", "", markdown(rows)]
    for name, figure in [] if limited else [("best rounds", best_round), ("median rounds", middle_round)]:
        ratios = {case: ratio(columns, figure) for case, columns in chosen.items()}
        ratios = {case: r for case, r in ratios.items() if r}
        if ratios:
            lowest = min(ratios, key=ratios.get)
            below = [case for case, r in ratios.items() if r < 0.95]
            lines += ["", f"Geometric mean over {len(ratios)} cases, {name}: **{geometric_mean(ratios.values()):.2f}**; "
                          f"lowest {ratios[lowest]:.2f} ({lowest}); below 0.95: {', '.join(below) or 'none'}."]
    return "\n".join(lines)


def tables(results, failures):
    """All tables of a run, as Markdown that is also readable as text."""
    parts = []
    for title, members in [("", cases.BASIC_OPS),
                           ("Convolutions, training and input, ",
                            cases.CONVOLUTIONS + cases.TRAINING + cases.EMBEDDINGS + cases.DATA)]:
        for threads in sorted({threads for _, threads in results}):
            chosen = {case: columns for (case, count), columns in results.items()
                      if count == threads and case in members}
            if chosen:
                parts.append(table(chosen, f"{title}{threads} thread{'s' if threads > 1 else ''}"))
    if failures:
        parts.append("Could not run: " + "; ".join(sorted(failures)) + ".")
    return "\n\n".join(parts)


def figures(results, threads):
    """The figures with a limit of their own, as Markdown; nothing where none was measured."""
    rows = [["figure", "best rounds", "median rounds", "must be", ""]]
    for name, value, unit, (relation, limit) in cases.FIGURES:
        try:
            best, middle = (value({case: figure(rounds) for case, rounds in results.items()})
                            for figure in (best_round, middle_round))
        except KeyError:
            continue  # one of its cases was not chosen
        holds = best <= limit if relation == "at most" else best >= limit
        rows.append([name, *[f"{v:.2f} {unit}".strip() for v in (best, middle)],
                     f"{relation} {limit:g} {unit}".strip(), "yes" if holds else "no"])
    if len(rows) == 1:
        return ""
    return f"### Functions, {threads} thread{'s' if threads > 1 else ''}\n\n{markdown(rows)}"


def machine(level):
    """CPU model and core count, as Linux tells them, and the instruction set that situ says it ran."""
    model = platform.processor() or platform.machine()
    info = pathlib.Path("/proc/cpuinfo")
    features = ""
    if info.exists():
        fields = dict(line.split("\t: ", 1) for line in info.read_text().replace("\t\t", "\t").splitlines()
                      if "\t: " in line)
        model = (f"{fields.get('model name', model)} (family {fields.get('cpu family', '?')}, "
                 f"model {fields.get('model', '?')})")
        cores = sum(line.startswith("processor") for line in info.read_text().splitlines())
        features = f", {cores} cores"
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    pages = f", transparent huge pages: {huge.read_text().split('[')[1].split(']')[0]}" if huge.exists() else ""
    ran = f"; situ ran {level}" if level else ""
    return model + features + pages + ran


def page(text, versions, level, options):
    """The whole results page."""
    excluded = "\n".join(f"- *{name.replace('_', ' ')}*: {why}." for name, why in cases.NOT_COMPARABLE.items())
    return f"""# Benchmark results

Made by `make bench`; do not edit. Time in µs (GFLOP/s of products and convolutions in brackets): the best of {options.rounds} rounds of
{options.millis} ms, taken in turns by all systems; a round's figure is the median of its calls. Ratios: the best peer's
time over ours, above 1.00 we are quicker; "of medians" takes the median round instead of the best.
While one system has its turn the others' processes are stopped, so that no idle thread spins on its cores.
Absolute times mean little on a shared machine; ratios within one run do.

- Machine: {machine(level)}
- Versions: {', '.join(f'{system} {version}' for system, version in versions.items())}
- All run at the same thread count, each in its quickest ordinary way (named behind the figure where there
  are several; `last` = images with channels last): situ eagerly, or as a compiled `function` where a case is several ops; torch in inference mode,
  `out` = into a given result, `inplace` = relu in place; TensorFlow eagerly, as `function` or with `xla`; ONNX
  Runtime with inputs and result bound beforehand; JAX by `jit`, a step's state donated.
- Training: a step of Dense 784-128(relu)-10 at batch 32, and of a CNN (3×3 ×32, 3×3 ×64, each with relu and a maximum
  of 2×2, dense 128, dense 10) on 28×28 at batch 64, with cross-entropy and Adam: situ as one compiled function, or
  eagerly on the tape; torch eagerly or by `compile`, with fused Adam; TensorFlow as one function, without or with
  `xla`, with its fused Adam. Input: batches of 32×784 floats, shuffled and prefetched, from situ's datasets and tf.data.
- A convolution's name: images, channels, side, filters, their side, stride, and where they are not 1 groups and dilation.

Shown, but never the best peer:
{excluded}

{text}
"""
