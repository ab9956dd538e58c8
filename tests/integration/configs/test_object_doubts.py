"""What no real object has in a user's URDF is said before it is used, and where it makes a request fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.slow

_SHAPES = "<{0}><origin xyz='{1}'/><geometry><box size='{2}'/></geometry></{0}>"


def _box_with_lid(folder: Path, *, axis: str, upper: float) -> Path:
    """Writes a chest whose lid turns about its rear edge, up for the axis `0 1 0`."""

    def shapes(place: str, size: str) -> str:
        return _SHAPES.format("visual", place, size) + _SHAPES.format("collision", place, size)

    body = shapes("0 0 -0.095", "0.3 0.3 0.01") + "".join(
        shapes(place, size)
        for place, size in (
            ("0.145 0 0", "0.01 0.3 0.2"),
            ("-0.145 0 0", "0.01 0.3 0.2"),
            ("0 0.145 0", "0.3 0.01 0.2"),
            ("0 -0.145 0", "0.3 0.01 0.2"),
        )
    )
    lid = shapes("-0.15 0 0.01", "0.3 0.3 0.02") + shapes("-0.28 0 0.035", "0.02 0.02 0.03")
    file = folder / "chest.urdf"
    file.write_text(
        f"<robot name='chest'><link name='body'>{body}</link><link name='lid'>{lid}</link>"
        "<joint name='hinge' type='revolute'><parent link='body'/><child link='lid'/><origin xyz='0.15 0 0.1'/>"
        f"<axis xyz='{axis}'/><limit lower='0' upper='{upper}' effort='10' velocity='2'/></joint></robot>",
        encoding="utf-8",
    )
    return file


def _load(file: Path) -> list[str]:
    return load_config("collect", CollectCfg, [f"object={file}", "skill=open"]).notices


def test_a_sound_object_has_no_notice(tmp_path: Path) -> None:
    assert _load(_box_with_lid(tmp_path, axis="0 1 0", upper=1.7)) == []


def test_limits_in_degrees_are_named_as_the_cause_of_a_refusal(tmp_path: Path) -> None:
    file = _box_with_lid(tmp_path, axis="0 1 0", upper=100)
    with pytest.raises(ConfigError, match=r"chest\.urdf: joint 'hinge' has limits 0 to 100 rad.*degrees.*fix=true"):
        _load(file)


def test_a_reversed_axis_is_named_before_episodes_are_made(tmp_path: Path) -> None:
    (notice,) = _load(_box_with_lid(tmp_path, axis="0 -1 0", upper=1.7))
    assert "chest.urdf: joint 'hinge' leads its part into the body" in notice
    assert "fix=true" in notice
