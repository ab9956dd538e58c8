"""Tasks that are derived from the kind of a part, and the command line that asks for them."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from unlatch import command_table
from unlatch.configs import derived_task
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.derived_request import describe_object_path
from unlatch.configs.derived_task import MIN_PART_DISTANCE_M, REACH_CENTER_M, REACH_HALF_M, derive_task
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import FramedVector, Handle, HandleType, Openness, Part, PartKind
from unlatch.objects.annotation_entries import Catch, ClosingForces
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import closing_reach
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.rng import EpisodeStreams
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.skills.config import part_acted_on
from unlatch.skills.strategies.hand_fit import held_at_edge
from unlatch.skills.strategies.open_close import goal_value, start_range
from unlatch.solver.setting_reader import check_names
from unlatch.tasks.layout import sample_layout
from unlatch.tasks.task import TaskCfg
from unlatch.workflows.episode.asset_checks import check_points, check_skill

HAND = hand_shape("franka_panda", ROBOTS.load("franka_panda")().arms[0])
DOOR, DRAWER = (ObjectCfg(name, name, instance="3") for name in ("microwave", "drawer"))


@cache
def made(*, slides: bool) -> ObjectAsset:
    return load_object(DRAWER if slides else DOOR, rng=np.random.default_rng(0))


def asset_of(kind: PartKind, handle: HandleType) -> tuple[ObjectAsset, Part]:
    """A generated object whose part is said to be of a kind."""
    asset = made(slides=kind is PartKind.slider)
    (part,) = asset.articulation.parts.values()
    part = replace(part, kind=kind, handle=replace(part.handle, type=handle))
    return replace(asset, articulation=replace(asset.articulation, parts={part.name: part})), part


def span(part: Part) -> float:
    return abs(part.openness.open - part.openness.closed)


FITTING = [("open", kind, handle) for kind in PartKind for handle in HandleType if handle is not HandleType.none]
FITTING += [("close", kind, HandleType.none) for kind in PartKind if kind not in (PartKind.knob, PartKind.lever)]
FITTING += [("close", PartKind.knob, HandleType.knob)]


@pytest.mark.parametrize(("skill", "kind", "handle"), FITTING)
def test_a_task_of_every_kind_passes_the_checks_of_a_task_file(skill: str, kind: PartKind, handle: HandleType):
    asset, part = asset_of(kind, handle)
    values: dict[str, Any] = {**derive_task(skill, asset, part, HAND), "object": {"name": asset.name, "category": "x"}}
    cfg = read_dataclass(
        EpisodeCfg, {**values, "robot": ROBOTS.load("franka_panda")().__dict__ | {"arms": []}}, where=""
    )
    search, entry = cfg.skills
    assert (search.name, search.objects) == ("artpreplan", [asset.name])
    arm = ROBOTS.load("franka_panda")().arms[0]
    check_names(entry.planner_setting, list(arm.keypoints), list(part.keypoints), "", list(part.axes))
    check_skill(entry, part, asset, where="skills[0]")
    check_points(entry.planner_setting, arm.keypoints, part, where="skills[0]")
    (opening,), (goal,) = cfg.task.openness, cfg.task.goal
    low, high = opening.range
    if skill == "close":
        assert 0.0 < goal.value <= 0.25 * low
        assert high <= span(part)
    else:
        assert (low > 0.0) == (handle is HandleType.edge)
        led_to = abs(entry.planner_setting.follow_joint.to - part.openness.closed)
        assert high + 1.49 * goal.value <= led_to < span(part)


@pytest.mark.parametrize("skill", ["open", "close"])
@pytest.mark.parametrize("cfg", [DOOR, DRAWER])
def test_what_is_acted_on_starts_in_reach_whatever_is_drawn(skill: str, cfg: ObjectCfg):
    asset = load_object(cfg, rng=np.random.default_rng(0))
    (part,) = asset.articulation.parts.values()
    task = read_dataclass(TaskCfg, derive_task(skill, asset, part, HAND)["task"], where="task")
    name = "link_contact_point" if skill == "close" else "articulated_object_head"
    model = read_urdf(asset.urdf_path)
    travel = goal_value(skill, part, start_range(skill, part, asset))
    for episode in range(50):
        place = sample_layout(task, {asset.name: asset}, [], EpisodeStreams(episode)["layout"]).objects[asset.name]
        point = place.T_world_root @ model.link_pose(part.link, dict(place.joint_positions)) @ part.keypoints[name].xyz
        # the box is that of the middle of the way: a start lies at most the way itself beside it
        beside = np.abs(point - REACH_CENTER_M)
        slack = 0.5 * max(travel, 0.5) * 0.5
        assert beside[0] <= REACH_HALF_M[0] + 0.03 + slack, (episode, point)
        assert beside[1] <= REACH_HALF_M[1] + 0.03 + slack, (episode, point)
        assert 0.1 <= point[2] <= 0.6, (episode, point)


@pytest.mark.parametrize(("start_m", "higher_m"), [(0.05, 0.0625), (0.3, 0.0)])
def test_a_bail_that_hangs_down_starts_higher_above_the_table(
    start_m: float, higher_m: float, monkeypatch: pytest.MonkeyPatch
):
    asset = load_object(DOOR, rng=np.random.default_rng(0))
    (door,) = asset.articulation.parts.values()
    path = np.array([[0.0, 0.0, start_m], [0.0, 0.0, 0.35 - start_m]])
    monkeypatch.setattr(derived_task, "_contact_path", lambda *_: path)
    low, high = (
        np.mean(derived_task.derive_region("open", asset, part, (0.0, 0.0))["height_m"])
        for part in (door, replace(door, kind=PartKind.lever))
    )
    assert high - low == pytest.approx(higher_m, abs=1.5e-3)


def test_a_small_arm_closes_a_door_from_the_angle_of_a_panda_at_a_door_of_full_size():
    cfg = ObjectCfg("door", "room_door", instance="0")
    full, small = (load_object(replace(cfg, size=size), rng=np.random.default_rng(0)) for size in (1.0, 0.5))
    of_panda, of_small = (
        start_range("close", asset.articulation.part("door"), asset, scale=scale)
        for asset, scale in ((full, 1.0), (small, 0.5))
    )
    assert of_small == pytest.approx(of_panda, abs=2e-3)
    assert start_range("close", small.articulation.part("door"), small)[1] > 1.2 * of_panda[1]


def test_an_open_part_leaves_the_arm_its_room():
    asset = load_object(DOOR, rng=np.random.default_rng(0))
    (part,) = asset.articulation.parts.values()
    region = derive_task("close", asset, part, HAND)["task"]["regions"][0]
    model = read_urdf(asset.urdf_path)
    sign = np.sign(part.openness.open - part.openness.closed)
    widest = start_range("close", part, asset)[1]
    head = model.link_pose(part.link, {part.joint: part.openness.closed + sign * widest})
    tip = (head @ part.keypoints["articulated_object_head"].xyz)[0] - asset.bounds_obj[1, 0]
    assert tip > 0.15
    assert region["center_m"][0] - region["half_extent_m"][0] - tip >= MIN_PART_DISTANCE_M - 1e-3


def test_an_edge_near_its_hinge_starts_open_wider():
    asset, part = asset_of(PartKind.lid, HandleType.edge)
    head = part.keypoints["articulated_object_head"]
    near = replace(part, keypoints={**part.keypoints, "articulated_object_head": FramedVector("link", 0.4 * head.xyz)})
    assert start_range("open", near, asset)[0] > start_range("open", part, asset)[0]


def test_a_head_that_was_set_beside_the_handle_is_on_the_edge():
    _, part = asset_of(PartKind.hinge_vertical, HandleType.bar)
    head = part.keypoints["articulated_object_head"]
    beside = FramedVector("link", head.xyz + np.array([0.0, 0.08, 0.0]))
    assert not held_at_edge(part)
    assert held_at_edge(replace(part, keypoints={**part.keypoints, "articulated_object_head": beside}))


def test_a_small_range_makes_a_small_task():
    asset, part = asset_of(PartKind.slider, HandleType.bar)
    short = replace(part, openness=Openness(0.0, 0.08), closing_forces=None)
    assert goal_value("open", short, start_range("open", short, asset)) == pytest.approx(0.048)
    assert start_range("close", short, asset) == pytest.approx((0.032, 0.048))


def test_a_part_that_starts_open_starts_beyond_the_reach_of_its_catch():
    for kind, handle in ((PartKind.slider, HandleType.bar), (PartKind.lid, HandleType.edge)):
        asset, part = asset_of(kind, handle)
        caught = replace(part, closing_forces=ClosingForces(Catch(5.0, 0.15)))
        reach = closing_reach(caught, asset.model)
        assert min(start_range("close", caught, asset)) > reach
        if handle is HandleType.edge:
            assert min(start_range("open", caught, asset)) > reach


def test_a_knob_that_no_hand_can_hold_is_not_turned_back():
    asset, part = asset_of(PartKind.knob, HandleType.none)
    with pytest.raises(ConfigError, match="skill=close does not fit part 'door': it is a knob, which is turned back"):
        derive_task("close", asset, part, HAND)


def test_what_no_hand_can_hold_is_not_opened():
    asset, part = asset_of(PartKind.hinge_vertical, HandleType.bar)
    bare = replace(part, handle=Handle(HandleType.none, np.zeros(3)))
    with pytest.raises(ConfigError, match=r"skill=open does not fit part 'door': it has neither a handle nor an edge"):
        derive_task("open", asset, bare, HAND)


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a generated microwave, URDF and annotation."""
    asset = load_object(DOOR, rng=np.random.default_rng(0))
    folder = tmp_path / "kitchen"
    folder.mkdir()
    (folder / "oven.urdf").write_bytes(asset.urdf_path.read_bytes())
    (folder / "articulation.yaml").write_text(asset.articulation.to_yaml())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def composed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = command_table.main(["collect", *words, "--cfg", "job", "--resolve"])
    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    content: dict[str, Any] = yaml.safe_load(said.out)
    return content


@pytest.mark.slow
def test_a_path_and_a_skill_make_a_whole_task_whose_keys_can_be_set(exported: Path, capsys: pytest.CaptureFixture[str]):
    words = ["object=kitchen", "skill=open", "skills.0.planner_setting.success_threshold=0.4", "seed=3"]
    content = composed(capsys, *words, "task.regions.0.yaw_deg=5", "task.settle_s=0.7")
    assert content["task"]["name"] == "open_oven_door"
    assert content["object"] == {**content["object"], "name": "object", "source": "urdf", "root": "kitchen"}
    assert content["skills"][0]["planner_setting"]["success_threshold"] == 0.4
    assert content["task"]["regions"][0]["yaw_deg"] == 5
    assert (content["task"]["settle_s"], content["seed"]) == (0.7, 3)
    assert content["task"]["openness"] == [{"object": "object", "part": "door", "range": [0.0, 0.0]}]


def test_a_path_stands_for_the_object_of_a_task_too(exported: Path, capsys: pytest.CaptureFixture[str]):
    content = composed(capsys, "task=open_microwave", "object=kitchen/oven.urdf")
    assert content["task"]["name"] == "open_microwave"
    assert content["task"]["regions"][0]["object"] == "object"
    assert content["object"]["root"] == "kitchen/oven.urdf"


@pytest.mark.slow
def test_the_instance_of_a_known_object_has_a_derived_task_too(capsys: pytest.CaptureFixture[str]):
    content = composed(capsys, "object=drawer", "object.instance=3", "skill=close")
    assert content["task"]["name"] == "close_drawer_3_drawer"
    assert content["task"]["goal"][0]["kind"] == "within_closed"


@pytest.mark.slow
def test_objects_of_a_folder_of_many_have_their_task_derived_in_each_episode(
    exported: Path, capsys: pytest.CaptureFixture[str]
):
    content = composed(capsys, "object=.", "skill=open", "object.split=train", "object.instances=round_robin")
    given = {"root": ".", "source": "urdf", "category": "object", "split": "train", "instances": "round_robin"}
    assert content["object"] == {**content["object"], **given}
    assert content["task"]["derived"] == {"skill": "open", "part": None, "openness": None}


@pytest.mark.slow
@pytest.mark.parametrize(("openness", "share"), [("0.9", 0.9), ("1", 0.96), ("full", 0.96)])
def test_a_part_is_led_as_far_as_asked(openness: str, share: float, exported: Path, capsys: pytest.CaptureFixture[str]):
    content = composed(capsys, "object=kitchen", "skill=open", f"openness={openness}")
    cfg = read_dataclass(ObjectCfg, describe_object_path("./kitchen", None), where="object")
    opens = load_object(cfg, rng=np.random.default_rng(0)).articulation.part("door").openness
    (goal,) = content["task"]["goal"]
    assert (goal["kind"], goal["value"]) == ("open_fraction", share)
    for setting in (entry["planner_setting"] for entry in content["skills"][1:]):
        assert setting["success_threshold"] == pytest.approx(share * opens.span, rel=2e-3)
        led_to = abs(setting["post_actuation_motions"]["follow_joint"]["to"] - opens.closed)
        assert share * opens.span <= led_to <= opens.span


@pytest.mark.slow
def test_the_objects_of_a_category_are_opened_as_far_as_asked(capsys: pytest.CaptureFixture[str]):
    content = composed(capsys, "object=oven", "skill=open", "openness=0.9")
    assert content["task"]["derived"] == {"skill": "open", "part": None, "openness": 0.9}


@pytest.mark.slow
def test_a_sweep_over_paths_and_skills(exported: Path, capsys: pytest.CaptureFixture[str]):
    words = ["object=kitchen/oven.urdf,./kitchen", "skill=open,close", "-m", "--cfg", "job", "--resolve"]
    assert command_table.main(["collect", *words]) == 0
    names = [content["task"]["name"] for content in yaml.safe_load_all(capsys.readouterr().out)]
    assert names == ["open_oven_door", "close_oven_door"] * 2


MISTAKES = [
    (
        "object=no.urdf skill=open",
        "'no.urdf' does not exist. Expected a URDF, USD, glTF, SDF, MJCF or the folder of an ",
    ),
    ("object=empty skill=open", "'empty' holds no URDF, USD, SDF, MJCF or glTF with joints, expected one. "),
    ("object=kitchen skill=opn", "skill='opn' cannot derive a task. Did you mean 'open'? "),
    ("object=kitchen skill=open part=dor", "part='dor' is not a part of kitchen. Did you mean 'door'? Parts: door."),
    (
        "object=oven skill=open skills.1.order=[hok]",
        "skills[1].order[0]='hok' is not a strategy of this entry. Did you mean 'hook'",
    ),
    (
        "object=kitchen skill=open skills.1.order=[hok]",
        "skills[1].order[0]='hok' is not a strategy of this entry. K",
    ),
    ("object=kitchen skill=open task=open_drawer", "skill=open derives a task, and task=open_drawer names one."),
    ("skill=open", "skill=open needs an object. Expected object=PATH"),
    ("object=kitchen part=door task=open_drawer", "part=door has no effect without skill."),
    ("object=kitchen skill=open openness=90", "openness=90.0 is not how far a part can be opened. Expected a share"),
    ("object=kitchen skill=open openness=wide", "openness=wide is not how far a part can be opened. Expected a share"),
    ("object=kitchen skill=close openness=0.9", "openness=0.9 asks how far a part is opened, and it has skill=close"),
    ("object=kitchen openness=0.9 task=open_drawer", "openness=0.9 asks how far a part is opened, and it has no skill"),
    ("object=oven skill=open task.derived.openness=2", "task.derived.openness=2 is not how far a part can be opened."),
    ("object=still.urdf skill=open", "{cwd}: no movable joint that a skill fits"),
    ("object=escape.urdf skill=open", "{cwd}/escape.urdf: visual of link 'a': '../secret.obj' leads out of"),
    ("object=kitchen skill=open object.scale=2", "object.scale=2 contradicts the scale 1 in"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_a_mistake_is_one_line(
    words: str, message: str, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    box = '<robot name="r"><link name="a"><visual><geometry>{}</geometry></visual></link></robot>'
    (tmp_path / "still.urdf").write_text(box.format('<box size="1 1 1"/>'))
    (tmp_path / "escape.urdf").write_text(box.format('<mesh filename="../secret.obj"/>'))
    (tmp_path / "empty").mkdir()
    for command in ("collect", "plan", "preview") if words == MISTAKES[0][0] else ("collect",):
        assert command_table.main([command, *words.split()]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert said.err.startswith("unlatch: " + message.replace("{cwd}", str(tmp_path)))


@pytest.mark.parametrize(
    ("skill", "part", "expected"),
    [("rotate", None, "dial"), ("open", None, "door"), ("close", None, "door"), ("open", "dial", "dial")],
)
def test_a_skill_acts_on_the_first_part_that_it_is_for(skill: str, part: str | None, expected: str):
    asset, door = asset_of(PartKind.hinge_vertical, HandleType.bar)
    dial = replace(door, name="dial", kind=PartKind.knob)
    articulation = replace(asset.articulation, parts={"door": replace(door, name="door"), "dial": dial})
    assert part_acted_on(skill, part, articulation).name == expected
    backwards = replace(articulation, parts=dict(reversed(articulation.parts.items())))
    assert part_acted_on(skill, part, backwards).name == expected
    alone = replace(articulation, parts={"door": articulation.parts["door"]})
    assert part_acted_on("rotate", None, alone).name == "door"


@pytest.mark.slow
def test_a_free_object_has_no_part_for_a_skill_that_moves_one(capsys: pytest.CaptureFixture[str]):
    assert command_table.main(["preview", "object=mug"]) == 2
    assert "so skill=open does not fit it" in capsys.readouterr().err


@pytest.mark.parametrize(("skill", "expected"), [("open", "dial"), ("rotate", "dial"), ("close", "button")])
def test_open_leaves_a_button_to_close_if_there_is_another_part(skill: str, expected: str):
    asset, part = asset_of(PartKind.slider, HandleType.none)
    closed = part.openness.closed
    button = replace(part, name="button", openness=replace(part.openness, open=closed + 0.003))
    assert button.is_button
    dial = replace(part, name="dial", kind=PartKind.knob)
    articulation = replace(asset.articulation, parts={"button": button, "dial": dial})
    assert part_acted_on(skill, None, articulation).name == expected
    alone = replace(articulation, parts={"button": button})
    assert part_acted_on("open", None, alone).name == "button"


def test_a_refusal_names_what_is_implausible_in_the_file_and_its_mend(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    text = (exported / "oven.urdf").read_text()
    (tmp_path / "unlimited").mkdir()
    (tmp_path / "unlimited" / "oven.urdf").write_text(re.sub("<limit[^>]*>", "", text))
    assert command_table.main(["collect", "object=unlimited", "skill=open"]) == 2
    said = capsys.readouterr().err
    assert "A possible cause: oven.urdf: joint 'door_hinge' has no limits. Mend: " in said
    assert f"`unlatch annotate {tmp_path}/unlimited/oven.urdf fix=true` writes a mended file." in said
