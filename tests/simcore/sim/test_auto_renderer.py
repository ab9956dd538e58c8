"""Which renderer `auto` is: never one that shows something else."""

from __future__ import annotations

import pytest

from unlatch.simcore.sim.renderers import auto

SMALL, LARGE = 128 * 96, 640 * 480


@pytest.mark.parametrize(
    ("card", "works", "pixels", "depth", "colours", "expected"),
    [
        (True, True, SMALL, True, False, "egl"),
        (True, False, LARGE, True, False, "tiny"),
        (True, True, LARGE, True, True, "tiny"),
        (False, True, SMALL, False, False, "tiny"),
        (False, True, 320 * 240, False, False, "egl"),
        (False, True, 320 * 240, True, False, "tiny"),
        (False, True, LARGE, True, False, "egl"),
    ],
)
def test_auto_chooses_the_faster_suitable_renderer(monkeypatch, card, works, pixels, depth, colours, expected):
    monkeypatch.setattr(auto, "_has_graphics_card", lambda: card)
    monkeypatch.setattr(auto, "_egl_works", lambda: works)
    assert auto.best_renderer(pixels, depth=depth, colours=colours) == expected
