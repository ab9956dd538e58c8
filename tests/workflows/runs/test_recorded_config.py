"""The header of a data set says with which configuration its episodes are made."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.simcore.errors import AssetError, ConfigError, RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.json_values import differences
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["object=bottle skill=rotate robot=dual_panda", "task=open_cabinet_drawer sensors=[front,imu]"],
)
def test_a_configuration_that_is_read_from_a_header_gives_the_same_header(words, tmp_path):
    header = header_of(load(*words.split()))
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        again = header_of(config_of(data_set))
    assert list(differences(data_set.header["config"], again["config"])) == []


URDF = '<robot name="m"><link name="base"/></robot>'


@pytest.fixture
def root(tmp_path) -> Path:
    """A data set of two microwaves that nobody loads."""
    for name in ("7", "8"):
        folder = tmp_path / "real" / "microwave" / name
        folder.mkdir(parents=True)
        (folder / "mobility.urdf").write_text(URDF)
    return tmp_path / "real"


def config(root: Path, *overrides: str) -> CollectCfg:
    return load("open_microwave", "object.source=partnet_mobility", f"object.root={root}", *overrides)


@pytest.mark.slow
def test_another_place_is_the_same_run_and_another_set_is_not(root, tmp_path):
    before = header_of(config(root))
    shutil.copytree(root, tmp_path / "moved")
    assert header_of(config(tmp_path / "moved")) == before
    assert str(root) not in str(before)
    shutil.copytree(root / "microwave" / "7", root / "microwave" / "9")
    assert header_of(config(root)) != before
    assert header_of(config(root))["config"] == before["config"]


def test_a_generated_object_adds_nothing():
    assert "objects" not in header_of(load("open_microwave"))


@pytest.mark.slow
def test_resuming_with_another_set_is_refused_with_the_ids_that_differ(root, tmp_path, monkeypatch, assert_refused):
    monkeypatch.setattr("unlatch.workflows.runs.run.check_assets", lambda cfg, *, number: None)
    DataSet.create_or_resume(tmp_path / "set", header=header_of(config(root))).close()
    shutil.rmtree(root / "microwave" / "7")
    words = ["task=open_microwave", "object.source=partnet_mobility", f"object.root={root}", f"out={tmp_path / 'set'}"]
    text = "1 value differs: objects.microwave.instances.7: there "
    assert_refused("collect", *words, text=text, folder=tmp_path)


def test_a_recorded_configuration_finds_its_objects_where_they_were(root, tmp_path):
    cfg = config(root)
    info = {"object_roots": {cfg.object.name: str(root)}}
    with DataSet.create_or_resume(tmp_path / "set", header=header_of(cfg), info=info) as data_set:
        assert config_of(data_set).object.root == str(root)
        shutil.rmtree(root)
        assert config_of(data_set).object.root is None, "the environment variable says where"


def _only(whole: str | None):
    """Loads a generated microwave where the instance is the whole one; all others are damaged."""

    def load_or_raise(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectAsset:
        rng.integers(2**31)
        if cfg.instance != whole:
            raise AssetError(f"microwave/{cfg.instance} is damaged.")
        return load_object(ObjectCfg(name=cfg.name, category="microwave", instance="1"), rng=rng)

    return load_or_raise


@pytest.mark.slow
def test_one_damaged_object_does_not_keep_a_run_from_starting(root, monkeypatch):
    monkeypatch.setattr("unlatch.workflows.episode.asset_checks.load_object", _only("8"))
    check_assets(config(root))
    with pytest.raises(AssetError, match="microwave/7 is damaged"):
        check_assets(config(root, "object.instance='7'"))
    monkeypatch.setattr("unlatch.workflows.episode.asset_checks.load_object", _only("none"))
    with pytest.raises(AssetError, match="microwave/None is damaged"):
        check_assets(config(root))

    monkeypatch.setattr("unlatch.workflows.episode.asset_checks.load_object", _only("8"))
    (root / "microwave" / "7" / "mobility.urdf").unlink()  # visible damage is told before anything is loaded
    with pytest.raises(AssetError, match=r"has no mobility\.urdf"):
        check_assets(config(root))
    check_assets(config(root, "object.instance='8'"))


@pytest.mark.integration
def test_a_damaged_object_costs_the_episode_that_draws_it_and_a_wrong_key_ends_the_run(root, monkeypatch):
    monkeypatch.setattr("unlatch.workflows.episode.assets.load_object", _only("8"))
    with EpisodeRunner(config(root)) as runner:
        record = runner.run(3)
        assert (record.number, record.success, record.code) == (3, False, "error")
        assert "microwave/None is damaged." in record.evidence["message"]

        def wrong(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectAsset:
            raise ConfigError("a key is wrong")

        monkeypatch.setattr("unlatch.workflows.episode.assets.load_object", wrong)
        with pytest.raises(ConfigError, match="a key is wrong"):
            runner.run(4)


def test_a_data_set_of_a_version_without_a_rule_is_judged_without_it(tmp_path):
    header = header_of(load("task=open_microwave"))
    assert header["config"]["skills"][0].pop("scene_force_threshold_n") == 30.0
    with DataSet.create_or_resume(tmp_path / "set", header=header) as data_set:
        assert config_of(data_set).skills[0].scene_force_threshold_n is None


def test_a_data_set_of_a_skill_that_is_not_installed_names_the_skill(tmp_path):
    header = header_of(load("task=open_microwave"))
    header["config"]["skills"][0] |= {"name": "wave", "wait_s": 2.0}
    expected = "made with a plugin that is not installed here: skills[0].name: Unknown skill 'wave'."
    with (
        DataSet.create_or_resume(tmp_path / "set", header=header) as data_set,
        pytest.raises(RecordingError, match=re.escape(expected)),
    ):
        config_of(data_set)
