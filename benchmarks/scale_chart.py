"""A picture of cost against size: ``python -m benchmarks.scale_chart results.jsonl docs/images/scale.svg``.

Draws what ``python -m benchmarks.scale --json results.jsonl`` measured: CPU of all processes and seconds by the clock
of each row, over the number of agents where there was the smallest number of load balancers, and over the number of
load balancers where there were most agents. Prints the slope of each line, by least squares.

Needs ``pip install matplotlib``, which nothing else does.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]


class Axis(NamedTuple):
    """One column of the picture."""

    key: str
    label: str
    chosen: Callable[[list[Row]], list[Row]]


def of_fewest_load_balancers(rows: list[Row]) -> list[Row]:
    """Sizes that differ in agents."""
    fewest = min(row["load_balancers"] for row in rows)
    return [row for row in rows if row["load_balancers"] == fewest]


def of_most_agents(rows: list[Row]) -> list[Row]:
    """Sizes that differ in load balancers: those with the number of agents that has most of them, the larger of two."""
    counts = {
        row["agents"]: len({one["load_balancers"] for one in rows if one["agents"] == row["agents"]}) for row in rows
    }
    chosen = max(counts, key=lambda agents: (counts[agents], agents))
    return [row for row in rows if row["agents"] == chosen]


AXES = (
    Axis("agents", "agents", of_fewest_load_balancers),
    Axis("load_balancers", "load balancers", of_most_agents),
)


def cpu_of(row: Row) -> float:
    """CPU seconds of all processes in the whole row."""
    return float(sum(row["cpu_seconds"].values()))


def cost_of(row: Row) -> float:
    """CPU seconds of all processes: each second if the row is idle, else of the whole row."""
    return cpu_of(row) / row["seconds"] if row["row"].startswith("idle") else cpu_of(row)


def slope(points: list[tuple[float, float]]) -> float:
    """Of the straight line through them, by least squares; 0 for less than two sizes."""
    xs, ys = zip(*points, strict=True)
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    return sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


MEASURES: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("CPU seconds of all processes (idle: each second)", cost_of),
    ("seconds by the clock", lambda row: float(row["seconds"])),
)
COLOURS = 10
"""Different ones that matplotlib has."""
CLOCK = 1
"""Which of them says nothing about rows that wait for a fixed time."""


def lines_of(rows: list[Row], name: str) -> Iterator[tuple[int, int, list[tuple[float, float]]]]:
    """Measure, axis and points of each line of the rows of this name."""
    for column, axis in enumerate(AXES):
        chosen = sorted((row for row in axis.chosen(rows) if row["row"] == name), key=lambda row: row[axis.key])
        for line, (_, measure) in enumerate(MEASURES):
            if chosen and not (name.startswith("idle") and line == CLOCK):
                yield line, column, [(row[axis.key], measure(row)) for row in chosen]


def draw(rows: list[Row], picture: Path) -> None:
    """The picture, and the slopes on standard output."""
    from matplotlib import pyplot  # nothing else needs it

    figure, grid = pyplot.subplots(len(MEASURES), len(AXES), figsize=(13, 9), squeeze=False)
    print(f"| | {' | '.join(f'{what}, over {axis.label}' for what, _ in MEASURES for axis in AXES)} |")
    print("|---" * (1 + len(AXES) * len(MEASURES)) + "|")
    for number, name in enumerate(dict.fromkeys(row["row"] for row in rows)):
        slopes = [""] * len(AXES) * len(MEASURES)
        for line, column, points in lines_of(rows, name):
            slopes[line * len(AXES) + column] = f"{slope(points) * 1000:.2f} per 1,000"
            color = f"C{number}" if number < COLOURS else "black"
            grid[line][column].plot(*zip(*points, strict=True), marker="o", label=name, color=color)
        print(f"| {name} | {' | '.join(slopes)} |")
    for line, column in product(range(len(MEASURES)), range(len(AXES))):
        panel = grid[line][column]
        panel.set(xlabel=AXES[column].label, ylabel=MEASURES[line][0], xscale="log", yscale="log")
        panel.grid(visible=True, alpha=0.3)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="lower center", ncols=2, fontsize="small")
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="JSON lines of benchmarks.scale")
    parser.add_argument("picture", type=Path, help="file to write, such as scale.svg")
    arguments = parser.parse_args()
    lines = arguments.results.read_text().splitlines()
    draw([json.loads(line) for line in lines if line], arguments.picture)


if __name__ == "__main__":
    main()
