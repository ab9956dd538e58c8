"""Measures the CPU time to generate an object with the text of its files: median and p95 by category.

`drawn` includes textures and meshes, which are made only for images and not for collecting. All times are CPU times, so
other programs do not affect them.

    python benchmarks/object_library.py            # 100 instances of each category
    python benchmarks/object_library.py count=400

Exit code 1 if the median over categories is above 20 ms: a new object in every episode must be cheap.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.workflows.cli.terminal import run_guarded

LIMIT_MS = 20.0
COUNT = 100
"""Number of instances of each category."""


def main(arguments: list[str]) -> int:
    """Prints the table of times; exit code 1 if the median over categories is above the limit."""
    count = next((int(a.removeprefix("count=")) for a in arguments if a.startswith("count=")), COUNT)
    print(f"CPU time of an object, and means over {count} instances of each category:")
    print(
        f"{'category':<16} {'median ms':>9} {'p95 ms':>8} {'drawn ms':>8} "
        f"{'links':>6} {'shapes':>7} {'seen':>6} {'parts':>6}"
    )
    medians, drawn_medians = [], []
    for category in GENERATORS.names():
        generate: Callable[..., GeneratedObject] = GENERATORS.load(category)
        generate(0).model.to_urdf()  # the times do not include imports
        textured_files(generate(0))
        times, drawn, links, shapes, seen, parts = [], [], 0, 0, 0, 0
        for seed in range(count):
            start = time.process_time()
            made = generate(seed)
            made.model.to_urdf()
            made.articulation.to_yaml()
            times.append(1e3 * (time.process_time() - start))
            textured_files(made)[0].to_urdf()
            drawn.append(1e3 * (time.process_time() - start))
            links += len(made.model.links)
            shapes += sum(len(link.collisions) for link in made.model.links.values())
            seen += sum(len(link.visuals) for link in made.model.links.values())
            parts += len(made.articulation.parts)
        medians.append(statistics.median(times))
        drawn_medians.append(statistics.median(drawn))
        p95 = sorted(times)[min(int(0.95 * count), count - 1)]
        means = " ".join(
            f"{value / count:>{width}.1f}" for value, width in ((links, 6), (shapes, 7), (seen, 6), (parts, 6))
        )
        print(f"{category:<16} {medians[-1]:>9.1f} {p95:>8.1f} {drawn_medians[-1]:>8.1f} {means}")
    for what, values in (("plain", medians), ("drawn", drawn_medians)):
        middle, slowest = statistics.median(values), max(values)
        print(f"{what}: median over categories {middle:.1f} ms, slowest {slowest:.1f} ms, allowed {LIMIT_MS:.0f} ms")
    return int(statistics.median(drawn_medians) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
