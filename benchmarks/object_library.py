"""How long it takes to make an object: median and 95th percentile by category, text of its files included.

`drawn` is the same with the textures and meshes that are made where somebody looks, which collecting does without.
Times are those of the processor: what else the machine does meanwhile is not counted.

    python benchmarks/object_library.py            # 100 instances of each category
    python benchmarks/object_library.py count=400

Exit code 1 if the median over categories is above 20 ms: a new object in every episode must cost next to nothing.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from unlatch.objects.procedural.building.generated_object import GeneratedObject
from unlatch.objects.procedural.building.textured_urdf import textured_files
from unlatch.objects.procedural.catalog import GENERATORS

LIMIT_MS = 20.0
COUNT = 100
"""Instances of a category."""


def main(arguments: list[str]) -> int:
    """Prints the table; exit code 1 if the median over categories is above the limit."""
    count = next((int(a.removeprefix("count=")) for a in arguments if a.startswith("count=")), COUNT)
    print(
        f"{'category':<16} {'median ms':>9} {'p95 ms':>8} {'drawn ms':>8} "
        f"{'links':>6} {'shapes':>7} {'seen':>6} {'parts':>6}"
    )
    medians, drawn_medians = [], []
    for category in GENERATORS.names():
        generate: Callable[..., GeneratedObject] = GENERATORS.load(category)
        generate(0).model.to_urdf()  # imports are not counted
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
    sys.exit(main(sys.argv[1:]))
