"""The derived keypoints against those that people set by hand, on real objects where they are."""

from pathlib import Path

import pytest

from benchmarks.annotation import compare
from unlatch.objects.annotate.source import PARTNET_URDF


@pytest.mark.slow
def test_derived_heads_agree_with_those_set_by_hand(partnet_dir):
    root = Path(partnet_dir)
    folders = sorted({path.parent for path in root.rglob(PARTNET_URDF)})
    found = [compare(f, f.relative_to(root).as_posix(), tolerance_m=0.03) for f in folders]
    results = [result for result in found if result is not None]
    assert results, "no object with keypoints set by hand"
    wrong = [f"{r.name}: {100 * r.distance_m:.1f} cm {r.problem}" for r in results if not r.agrees]
    assert len(results) - len(wrong) >= 0.85 * len(results), wrong
    assert [r.name for r in results if not r.right_part] == []
