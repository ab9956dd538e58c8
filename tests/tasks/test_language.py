"""Templates of instructions, filled in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from simcore.assets.library import ObjectCfg, load_object
from simcore.rng import stream
from tasks.language import FIELDS, fill_in


def test_every_field_is_filled_in_and_what_is_unknown_leaves_no_gap(tmp_path: Path) -> None:
    cfg = ObjectCfg(name="a", category="microwave", instance="7", cache_dir=str(tmp_path))
    asset = load_object(cfg, rng=stream(0, "layout"))
    side = f"{asset.parameters['hinge_side']}-hinged"
    texts = ["open the {side} {part} of the {object}", " ".join(f"{{{name}}}" for name in FIELDS)]
    assert fill_in(texts, asset, "upper_door") == [
        f"open the {side} upper door of the microwave",
        f"microwave upper door {side}",
    ]
    plain = replace(asset, parameters={})
    assert fill_in(texts[:1], plain, "door") == ["open the door of the microwave"]
