"""Distributions of other people, as an installation leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest


def install(site: Path, name: str, group: str, patch: pytest.MonkeyPatch, *, metadata: str = "", **points: str) -> None:
    """Puts a distribution with entry points of a group of Unlatch into a folder where Python looks for modules.

    Args:
        site: The folder, which holds the distribution's modules.
        name: Name of the distribution.
        group: Group of entry points, without `unlatch.`.
        patch: Adds the folder to Python's path for the time of a test.
        metadata: Further lines of its metadata.
        points: What each entry point names: `module:attribute`.
    """
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{metadata}")
    lines = "".join(f"{key} = {target}\n" for key, target in points.items())
    (info / "entry_points.txt").write_text(f"[unlatch.{group}]\n{lines}")
    patch.syspath_prepend(str(site))
