"""Objects of scene-synthesizer: an extra, asked for on use alone."""

import re
import sys
import types
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.importers import synthesized_object
from unlatch.objects.library import describe_object_set, load_instance, load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.extras import install_command


@pytest.fixture
def make(cache_dir):
    source = ObjectSource.scene_synthesizer
    return lambda **values: ObjectCfg(
        **{"name": "o", "category": "range", "source": source, "cache_dir": cache_dir, **values}
    )


class Cabinet:
    """Stands in for one of its generators: writes one of our own cabinets."""

    made: ClassVar[list[int]] = []

    def __init__(self, seed):
        self.seed = seed

    @classmethod
    def random(cls, seed):
        cls.made.append(seed)
        if seed == 13:
            raise ValueError("no such size")
        return cls(seed)

    def scene(self):
        return self

    def export(self, path):
        sys.stdout.write("exporting")
        Path(path).write_text(GENERATORS.load("cabinet")(self.seed).model.to_urdf())


@pytest.fixture
def installed(monkeypatch):
    module = types.ModuleType("scene_synthesizer.procedural_assets")
    module.__dict__["RangeAsset"] = Cabinet
    monkeypatch.setitem(sys.modules, "scene_synthesizer", types.ModuleType("scene_synthesizer"))
    monkeypatch.setitem(sys.modules, "scene_synthesizer.procedural_assets", module)
    monkeypatch.setattr(synthesized_object, "version", lambda name: "1.15.0")
    monkeypatch.setattr(Cabinet, "made", [])


def test_without_the_extra_the_error_names_it(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "scene_synthesizer", None)
    with pytest.raises(AssetError, match=r"'scene_synthesizer', .* " + re.escape(install_command("synthesizer"))):
        load_instance(make())


@pytest.mark.integration
@pytest.mark.usefixtures("installed")
def test_an_object_is_generated_once_and_converted(make, capsys):
    cfg = make(instances="round_robin", instance_count=3)
    asset = load_object(cfg, rng=np.random.default_rng(0), number=4)
    again = load_instance(make(instance="1"))
    assert (asset.source, asset.category, asset.instance) == ("scene_synthesizer", "range", "1")
    assert asset.content_hash == again.content_hash
    assert Cabinet.made == [1]
    assert "door" in asset.articulation.parts
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("installed")
def test_the_set_of_a_urdf_states_version_and_files(make):
    assert describe_object_set(make()) == {"synthesizer": "1.15.0", "urdf": synthesized_object.VERSION}
    assert "files" in describe_object_set(make(instance="2"))


@pytest.mark.usefixtures("installed")
def test_an_object_that_cannot_be_generated_is_an_error_of_that_object(make):
    with pytest.raises(AssetError, match="cannot make range 13: ValueError: no such size"):
        load_instance(make(instance="13"))


def test_mistakes_are_refused_with_their_key(make):
    with pytest.raises(ConfigError, match=r"object\.category='rang' is not a category of source=scene_syn"):
        load_instance(make(category="rang"))
    with pytest.raises(ConfigError, match=r"object\.root=x has no meaning for source=scene_synthesizer"):
        make(root="x")
    with pytest.raises(ConfigError, match=r"object\.instance='b' is not a seed"):
        make(instance="b")


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("category", synthesized_object.GENERATORS)
def test_every_category_of_the_package_itself(category, make):
    pytest.importorskip("scene_synthesizer", reason="extra synthesizer")
    asset = load_instance(make(category=category, instance="0"))
    assert asset.articulation.parts
