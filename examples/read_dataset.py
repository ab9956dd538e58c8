"""Reads a data set: prints the results, then the arrays of the first success.

usage: python examples/read_dataset.py DATA
"""

from __future__ import annotations

import sys

import unlatch


def main(path: str) -> None:
    """Prints one line per episode, then every array of the first success with its shape."""
    data_set = unlatch.open_dataset(path)
    for number in data_set.numbers():
        record = data_set.read(number, arrays=False)
        print(f"episode {number}: {'success' if record.success else record.code}, {record.language[:1]}")
    first = next((n for n in data_set.numbers() if data_set.read(n, arrays=False).success), None)
    if first is None:
        return
    record = data_set.read(first)
    print(f"episode {first}: {record.n_actions} actions, {record.n_actions + 1} states")
    for key, array in sorted(record.arrays.items()):
        print(f"  {key:<60} {array.dtype!s:<8} {array.shape}")


if __name__ == "__main__":
    main(sys.argv[1])
