"""A folder of URDFs, each an instance."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg, ObjectSource, Split, split_of
from unlatch.objects.importers.urdf_object import is_urdf_folder, urdf_instances
from unlatch.objects.library import chooses_instance, describe_folder, describe_object_set, load_instance, load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError, ConfigError


@pytest.fixture
def folder(tmp_path):
    """Three cartons in folders, a box beside them, a carton of PartNet-Mobility's form."""
    root = tmp_path / "shelf"
    places = ("carton_0/object.urdf", "carton_1/object.urdf", "deep/carton_2/object.urdf", "Box/77/mobility.urdf")
    for seed, place in enumerate(places):
        (root / place).parent.mkdir(parents=True)
        (root / place).write_text(GENERATORS.load("carton")(seed).model.to_urdf())
    (root / "loose.urdf").write_text(GENERATORS.load("box")(0).model.to_urdf())
    (root / "other.urdf").write_text(GENERATORS.load("box")(1).model.to_urdf())
    return root


@pytest.fixture
def cfg(folder, cache_dir):
    return ObjectCfg(name="o", category="object", source=ObjectSource.urdf, root=str(folder), cache_dir=cache_dir)


def test_instances_are_named_by_their_path_and_a_folder_of_one_object_is_not_one_of_many(folder, tmp_path):
    assert list(urdf_instances(folder)) == ["loose", "other", "Box/77", "carton_0", "carton_1", "deep/carton_2"]
    assert urdf_instances(folder)["Box/77"] == folder / "Box/77/mobility.urdf"
    (tmp_path / "empty").mkdir()
    for name, is_folder in (("", True), ("deep", True), ("carton_0", False), ("Box/77", False), ("loose.urdf", False)):
        assert is_urdf_folder(folder / name) is is_folder, name
    assert not is_urdf_folder(tmp_path / "empty")
    with pytest.raises(AssetError, match="holds no URDF, 3 folders deep"):
        urdf_instances(tmp_path / "empty")


def test_a_repository_with_objects_further_down_is_refused_and_the_folder_of_objects_is_named(tmp_path):
    below = tmp_path / "tests" / "data"
    for name in ("a", "b"):
        (below / name).mkdir(parents=True)
        (below / name / "object.urdf").write_text(GENERATORS.load("box")(0).model.to_urdf())
    assert list(urdf_instances(tmp_path)) == ["tests/data/a", "tests/data/b"]
    (tmp_path / ".git").mkdir()
    with pytest.raises(AssetError) as caught:
        urdf_instances(tmp_path)
    assert caught.value.message == (
        f"'{tmp_path}' is a repository with 2 URDFs somewhere below. Expected a URDF, the folder of an object, or a "
        f"folder of objects. Name that folder, such as '{below}'."
    )
    (below / ".git").mkdir()
    assert list(urdf_instances(below)) == ["a", "b"]  # a repository of objects


def test_a_folder_of_many_objects_is_described_in_one_line(cfg, folder):
    assert describe_folder(cfg) == (
        f"'{folder}' is a folder of 6 objects (loose, other, Box/77, ...); each episode draws one. For one of them, "
        "add object.instance=loose"
    )
    assert describe_folder(cfg.with_instance("carton_1")) == ""
    assert describe_folder(replace(cfg, root=str(folder / "carton_0"))) == ""


@pytest.mark.integration
def test_each_object_of_a_folder_is_loaded_by_name_with_its_category(cfg):
    assert chooses_instance(cfg)
    chosen = replace(cfg, instances="round_robin")
    assets = [load_object(chosen, rng=np.random.default_rng(0), number=number) for number in (2, 4)]
    assert [(asset.instance, asset.category) for asset in assets] == [("Box/77", "box"), ("carton_1", "object")]
    again = load_instance(cfg.with_instance("carton_1"))
    assert (again.content_hash, again.instance) == (assets[1].content_hash, "carton_1")
    message = r"object\.instance='carton_9' is not in .* Did you mean 'carton_0' or 'carton_1'"
    with pytest.raises(ConfigError, match=message):
        load_instance(cfg.with_instance("carton_9"))


def test_the_set_of_a_folder_states_the_instances_that_may_be_drawn(cfg):
    def stated(**values):
        return list(describe_object_set(replace(cfg, **values))["instances"])

    assert len(stated()) == 6
    assert stated(instances=["carton_0", "Box/77"]) == ["carton_0", "Box/77"]
    held = [name for name in urdf_instances(Path(cfg.root)) if split_of(name, held_out=0.5) is Split.held_out]
    assert stated(split=Split.held_out, held_out=0.5) == held
