"""`annotate` called from Python: it returns the annotation, prints nothing and raises our errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch.objects.annotation_reader import read_articulation
from unlatch.simcore.errors import AssetError
from unlatch.workflows.assets.annotate import annotate
from unlatch.workflows.assets.convert import MakeObjectCfg, make_objects


def test_annotate_writes_the_annotation_that_it_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make_objects("drawer", MakeObjectCfg(out=str(tmp_path / "drawer")))
    found = annotate(tmp_path / "drawer", out=tmp_path / "out", picture=False)
    assert list(found.articulation.parts) == list(read_articulation(tmp_path / "out" / "articulation.yaml").parts)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["articulation.yaml"]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_annotate_with_force_keeps_the_catch_that_the_file_states(tmp_path: Path):
    make_objects("drawer", MakeObjectCfg(out=str(tmp_path / "drawer")))
    file = tmp_path / "drawer" / "articulation.yaml"
    stated = {part.joint: part.closing_forces for part in read_articulation(file).parts.values()}
    assert any(forces is not None for forces in stated.values())
    for force in (True, False):  # the new file counts as the command's, so the second run needs no force
        found = annotate(tmp_path / "drawer", force=force, picture=False)
        for part in [*found.articulation.parts.values(), *read_articulation(file).parts.values()]:
            assert part.closing_forces == stated[part.joint]


def test_annotate_raises_an_asset_error_if_there_is_no_object(tmp_path: Path):
    with pytest.raises(AssetError):
        annotate(tmp_path / "nowhere")
