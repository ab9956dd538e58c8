"""Handles that stand still: written, read back, and where they are said to be."""

import numpy as np
import pytest

from unlatch.objects.annotation_reader import articulation_from_dict, articulation_from_yaml
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.solids import Solids

POT = load_object(ObjectCfg(name="pot", category="pot", instance="1"), rng=np.random.default_rng(0))


def test_handles_are_read_as_they_were_written():
    read = articulation_from_yaml(POT.articulation.to_yaml(), where="articulation.yaml")
    assert list(read.handles) == ["left_handle", "right_handle"]
    for name, handle in POT.articulation.handles.items():
        assert read.fixed_handle(name).to_dict() == handle.to_dict()


def test_the_annotated_bar_of_a_handle_is_in_the_model():
    vertices = Solids.from_urdf(POT.urdf_path).vertices("body")
    for name, sign in (("left_handle", -1.0), ("right_handle", 1.0)):  # as seen from before the object, at its +x
        handle = POT.articulation.fixed_handle(name)
        assert np.sign(handle.middle[1]) == sign
        furthest = float((vertices @ handle.out).max())
        assert float(handle.middle @ handle.out) + handle.thickness_m / 2 == pytest.approx(furthest, abs=1e-3)


def test_an_unknown_handle_is_refused_with_the_known_ones():
    with pytest.raises(AssetError) as caught:
        POT.articulation.fixed_handle("rigt_handle")
    assert caught.value.message.startswith("No handle 'rigt_handle' in pot '1'. Did you mean 'right_handle'")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("along", [1.0, 1.0, 0.0], "handles.left_handle.along has length 1.4142, expected a unit vector."),
        ("thickness_m", 0.0, "handles.left_handle.thickness_m is 0.0, expected a value above 0."),
    ],
)
def test_an_invalid_handle_is_refused(key, value, message):
    data = POT.articulation.to_dict()
    data["handles"]["left_handle"][key] = value
    with pytest.raises(AssetError) as caught:
        articulation_from_dict(data, where="articulation.yaml")
    assert message in caught.value.message
