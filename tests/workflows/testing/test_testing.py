"""The contracts that authors of plugins run: each holds for a built-in one and names the fault of a wrong one."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.registry import CatalogEntry
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.solver.term_kinds import COSTS, TERMS
from unlatch.workflows.testing.contracts import (
    check_exporter,
    check_object,
    check_robot,
    check_sensor,
    check_skill,
    check_task,
    check_term,
)

pytestmark = pytest.mark.slow

Wrong = Callable[..., None]

MODULE = """
import itertools
from dataclasses import replace

import numpy as np

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.exporter import Exporter
from unlatch.simcore.sim.sensors.sensor import Sensor
from unlatch.simcore.state import Buffer
from unlatch.skills.open import Open
from unlatch.solver.term_kinds import Point2Plane
from unlatch.solver.term import PointRow

COUNT = itertools.count()


class Readings(Sensor):
    def __init__(self, cfg, world):
        super().__init__(cfg, world)
        self.value = Buffer()


class Grows(Readings):
    def _measure(self, T):
        before = self.value.get_value()
        self.value.set_value(np.zeros(1 if before is None else len(before) + 1))


class Counts(Readings):
    def _measure(self, T):
        self.value.set_value(next(COUNT))


class Pushes(Readings):
    def _measure(self, T):
        self.value.set_value(0.0)
        body = self.world.bodies["drawer"]
        body.set_root_pose(Pose.from_translation((0.0, 0.0, 0.01)) @ body.root_pose())


class OtherType(Point2Plane):
    TYPE = "another"


class Wrong(Point2Plane):
    TYPE = "wrong"


class Misnamed(Wrong):
    def object_names(self):
        return {"target_keypoint_name": "articulated_object_tail"}


class Nan(Wrong):
    def row(self, tool, scene):
        return PointRow(np.full(3, np.nan), np.zeros(3), 0.1)


class Drifts(Wrong):
    def row(self, tool, scene):
        return PointRow(np.zeros(3), np.full(3, float(next(COUNT))), 0.1)


class OutOfReach(Wrong):
    def row(self, tool, scene):
        return PointRow(np.zeros(3), np.full(3, 9.0), 0.1)


class File(Exporter):
    suffix = ".txt"

    def write(self, draft, trajectories, *, parts, base):
        draft.write_text("".join(f"{item.number}\\n" for item in trajectories))


class Clock(File):
    def write(self, draft, trajectories, *, parts, base):
        super().write(draft, trajectories, parts=parts, base=base)
        draft.write_text(f"{next(COUNT)}\\n")


class Deaf(File):
    def write(self, draft, trajectories, *, parts, base):
        draft.write_text("episodes")


class Leaks(File):
    def write(self, draft, trajectories, *, parts, base):
        (self.source.data_set.path / "notes.txt").write_text(f"{next(COUNT)}")
        super().write(draft, trajectories, parts=parts, base=base)


class Grips(File):
    def taken(self, target):
        return set()


def urdf_path():
    return model_path("franka_panda")


def arm(change):
    robot = load_robot("franka_panda")
    return replace(robot, name="wrong", arms=[change(robot.arms[0])])


def other_name(): return load_robot("franka_panda")
def strong(): return arm(lambda a: replace(a, ee_link="panda_link7x"))
def folded(): return arm(lambda a: replace(a, home=[0.0, -0.5, 0.0, -3.0, 0.0, 0.1, 0.0]))
def one_sided(): return arm(lambda a: replace(a, keypoints={**a.keypoints, "tool_head": [0.0, 0.2, 0.1034]}))


def same(seed, *, name=None):
    return GENERATORS.load("drawer")(0)


def changing(seed, *, name=None):
    return GENERATORS.load("drawer")(next(COUNT))


class NoPlan(Open):
    def start(self):
        pass
"""


@pytest.fixture
def wrong(tmp_path, monkeypatch) -> Iterator[Wrong]:
    """Puts one of the module's into a catalog under the name `wrong`."""
    (tmp_path / "deliberately_wrong.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def put(catalog: Any, target: str) -> None:
        entry = CatalogEntry(f"deliberately_wrong:{target}", "wrong", origin="theirs")
        monkeypatch.setattr(catalog, "_all", {**catalog.entries(), "wrong": entry})

    yield put
    sys.modules.pop("deliberately_wrong", None)


PLANE = {"keypoint_name": "tool_head", "target_keypoint_name": "articulated_object_head"}
PLANE |= {"plane_normal": [0, 0, 1], "tolerance": 0.01}


BROKEN = [
    (TERMS, "OtherType", r"Term 'wrong' has TYPE='another'\. Expected the name of its entry point"),
    (
        TERMS,
        "Misnamed",
        r"'target_keypoint_name' is 'articulated_object_tail', the entry has 'articulated_object_head'",
    ),
    (TERMS, "Nan", r"Term 'wrong' has the value nan at the hand's pose"),
    (TERMS, "Drifts", r"Term 'wrong' has the value .*, and .* when it is computed again"),
    (TERMS, "OutOfReach", r"No joints are found at which term 'wrong' holds"),
    (SENSORS, "Readings", r"'value' of sensor 'it' has no value in the first state"),
    (SENSORS, "Grows", r"'sensors\.it\.value' of state row . is float64\[\d+\], expected float64\[1\]"),
    (SENSORS, "Counts", r"'value' of sensor 'it' in state 0 differs when the episode is made again"),
    (SENSORS, "Pushes", r"Sensor 'it' moves drawer\. A sensor must only read"),
    (ROBOTS, "other_name", r"Robot 'wrong' is made with the name 'franka_panda'"),
    (ROBOTS, "strong", r"ee_link='panda_link7x' is not a link of robot 'wrong'"),
    (ROBOTS, "folded", r"Arm 'left' touches its own robot at home, with"),
    (ROBOTS, "one_sided", r"All finger links of 'left' lie to one side of tool_head"),
    (GENERATORS, "same", r"'wrong' is annotated as 'drawer'"),
    (GENERATORS, "changing", r"'wrong' of seed 0 gives another object the second time"),
]
CHECKS: dict[str, Callable[[], None]] = {
    TERMS.kind: lambda: check_term({"type": "wrong", **PLANE}),
    SENSORS.kind: lambda: check_sensor({"name": "it", "type": "wrong"}, frames=2),
    ROBOTS.kind: lambda: check_robot("wrong"),
    GENERATORS.kind: lambda: check_object("wrong"),
}


@pytest.mark.parametrize(("catalog", "target", "message"), BROKEN, ids=[target for _, target, _ in BROKEN])
def test_a_plugin_that_breaks_its_contract_is_named(wrong, catalog, target, message):
    wrong(catalog, target)
    with pytest.raises(AssertionError, match=message):
        CHECKS[catalog.kind]()


BUILT_IN = {
    "constraint": lambda: check_term({"type": "point2plane_constraint", **PLANE}),
    "cost": lambda: check_term({"type": "point2plane_cost", **{k: v for k, v in PLANE.items() if k != "tolerance"}}),
    "imu": lambda: check_sensor("imu", frames=3),
    "lidar": lambda: check_sensor({"name": "above", "type": "lidar", "rows": 2, "columns": 8}, frames=3),
    "robot": lambda: check_robot("franka_panda"),
    "object": lambda: check_object("drawer"),
    "task": lambda: check_task("close_drawer", episodes=1),
}


@pytest.mark.parametrize("what", BUILT_IN)
def test_what_is_built_in_fulfils_its_contract(what):
    BUILT_IN[what]()


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_term({"type": "wrong", **PLANE}), "Term 'wrong' is not listed"),
        (lambda: check_skill("wrong", "open_drawer"), "Skill 'wrong' is not listed"),
    ],
)
def test_what_is_not_listed_is_named(check, message):
    assert "wrong" not in {*TERMS.names(), *COSTS.names(), *SKILLS.names()}
    with pytest.raises(AssertionError, match=message):
        check()


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    from unlatch.workflows.testing.contracts import make_successes

    return make_successes(tmp_path_factory.mktemp("data") / "set").path


@pytest.mark.parametrize("name", ["lerobot", "robomimic"])
def test_built_in_formats_fulfil_their_contract(name, data):
    check_exporter(name, data=data)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Clock", r"Format 'wrong' wrote \. differently the second time"),
        ("Deaf", r"Format 'wrong' ignores an error while its episodes are read, or does not read them"),
        ("Leaks", r"Format 'wrong' changed the data set that it exports"),
        ("Grips", r"Format 'wrong' took 2 episodes that its target had already"),
    ],
)
def test_a_format_that_breaks_its_contract_is_named(wrong, target, message, data):
    wrong(EXPORTERS, target)
    keys = {"append": True} if target == "Grips" else {}
    with pytest.raises(AssertionError, match=message):
        check_exporter("wrong", data=data, keys=keys)


TASKS = [
    ("name: other", r"Task 'mine' has task\.name='other'"),
    ("name: mine, language: [close it]", r"Task 'mine' has 1 phrasings in task\.language\. Expected at least 3"),
    (
        "name: mine, goal: [{object: drawer, part: drawer, kind: within_closed, value: 0.5}]",
        r"The goal of 'mine' holds at the start of episode 0",
    ),
    (
        "name: mine, regions: [{object: drawer, center_m: [0.1, 0.0], half_extent_m: [0.0, 0.0]}]",
        r"Episode 0 of 'mine' has no valid layout",
    ),
]


@pytest.mark.parametrize(("content", "message"), TASKS, ids=["name", "words", "goal", "layout"])
def test_a_task_that_breaks_its_contract_is_named(content, message, tmp_path):
    (tmp_path / "task").mkdir()
    text = f"# @package _global_\ndefaults: [close_drawer, _self_]\ntask: {{{content}}}\n"
    (tmp_path / "task" / "mine.yaml").write_text(text)
    with pytest.raises(AssertionError, match=message):
        check_task("mine", config_dirs=[str(tmp_path)])


def test_a_skill_that_starts_without_a_plan_is_named(wrong, monkeypatch):
    wrong(SKILLS, "NoPlan")
    monkeypatch.setattr(SKILLS, "_all", {**SKILLS.entries(), "open": SKILLS.entries()["wrong"]})
    with pytest.raises(AssertionError, match=r"Skill 'open' starts without a plan"):
        check_skill("open", "open_drawer", episodes=1)
