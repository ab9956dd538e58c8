"""Real objects, where the data set is: converted as they were downloaded, sane, free to move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unlatch.workflows.assets.convert import ConvertCfg, convert_all, find_jobs


def find(root: str, instance: str) -> Path:
    (found,) = Path(root).rglob(f"{instance}/mobility.urdf")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("instance", ["7310", "148"])
def test_a_real_object_is_converted_and_moves(instance, partnet_dir, tmp_path):
    path = find(partnet_dir, instance)
    (outcome,) = convert_all(find_jobs(path, ConvertCfg(out=str(tmp_path), report=True)), workers=1)
    assert not outcome.failed, outcome.message
    report = json.loads((tmp_path / f"{instance}.report.json").read_text())
    assert report["parts"] >= 3
    assert all(values["inertia"] in ("sane", "held") for values in report["links"].values())
    assert min(joint["travel"] for joint in report["joints"].values()) > 0.9
