"""The tables that the site makes from the code have a place on one page each, and name what there is."""

import sys
from pathlib import Path

from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.recording.observed_scene import GEOMETRY
from unlatch.simcore.sim.sensors.camera import CAMERA_MODELS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "_site"))
from data_tables import TABLES, annotator_table, camera_table, geometry_table

ROOT = Path(__file__).resolve().parents[2]


def test_every_mark_is_on_one_page():
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    assert {mark: sum(page.count(f"\n{mark}\n") for page in pages) for mark in TABLES} == dict.fromkeys(TABLES, 1)


def test_the_tables_name_every_annotator_camera_and_number():
    annotators = [name for name, entry in ANNOTATORS.entries().items() if entry.target.startswith("unlatch.")]
    assert [name for name in annotators if f"\n| `{name}` |" not in annotator_table()] == []
    assert "| `occlusion` | `alone_px` | (N) | int32 | px |" in annotator_table()
    assert [name for name in CAMERA_MODELS if f"\n| `{name}` |" not in camera_table()] == []
    assert "| `realsense_d405` | 1280 x 720 | 87 x 58 deg | 0.07 to 0.5 m |" in camera_table()
    assert [entry.name for entry in GEOMETRY if f"\n| `{entry.name}` |" not in geometry_table()] == []
