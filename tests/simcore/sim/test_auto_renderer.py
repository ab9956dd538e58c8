"""Which renderer `auto` is: never one that shows something else."""

from __future__ import annotations

import pytest

from unlatch.simcore.sim.renderers import auto

SMALL, LARGE = 128 * 96, 640 * 480


@pytest.mark.parametrize(
    ("card", "works", "pixels", "depth", "scenery", "expected"),
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
def test_without_vulkan_auto_chooses_the_faster_suitable_renderer_of_bullet(
    monkeypatch, card, works, pixels, depth, scenery, expected
):
    monkeypatch.setattr(auto, "pygfx_works", lambda: False)
    monkeypatch.setattr(auto, "_has_graphics_card", lambda: card)
    monkeypatch.setattr(auto, "_egl_works", lambda: works)
    assert auto.best_renderer(pixels, depth=depth, scenery=scenery) == expected
    assert auto.picture_renderer() == "tiny"


def test_where_pygfx_works_auto_is_pygfx_and_a_name_stays_a_name(monkeypatch):
    monkeypatch.setattr(auto, "pygfx_works", lambda: True)
    assert auto.best_renderer(SMALL, depth=True, scenery=True) == auto.picture_renderer() == "pygfx"
    assert auto.picture_renderer("embree") == "embree"


def test_pygfx_does_not_work_where_it_is_not_installed_or_finds_no_driver(monkeypatch):
    from unlatch.simcore.errors import WorldError
    from unlatch.simcore.sim.renderers import pygfx

    def find_no_driver():
        raise WorldError("no driver")

    monkeypatch.setattr(auto, "find_spec", lambda name: None)
    assert not auto.pygfx_works.__wrapped__()
    monkeypatch.setattr(auto, "find_spec", lambda name: name)
    monkeypatch.setattr(pygfx, "open_device", find_no_driver)
    assert not auto.pygfx_works.__wrapped__()
