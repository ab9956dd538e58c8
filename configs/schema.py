"""The dataclass of an episode's configuration; dataclasses of its parts are beside the classes that use them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

from unlatch.objects.config import ObjectCfg
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.simcore.ranges import Fraction, Range, check_ranges
from unlatch.simcore.sim.sensors.config import SensorCfg
from unlatch.simcore.sim.world import WorldCfg
from unlatch.skills.contract.config import SkillCfg, fill_objects
from unlatch.skills.recovery.config import DisturbCfg
from unlatch.solver.planning.plan import PlannerCfg
from unlatch.tasks.task import TaskCfg

MAX_REPLANS = 20
"""Most attempts at a skill after its first one."""


@dataclass
class CamerasCfg:
    """The cameras of an episode: a YAML file of the group `camera`."""

    name: str = "none"
    """Name of this set of cameras."""
    cameras: list[SensorCfg] = field(default_factory=list)
    """Cameras: names of YAML files of the group `sensor`, or entries with a `type`."""


class Scenery(Enum):
    """The room around the table, which is only visible."""

    none = "none"
    """No room: a table in front of white."""
    studio = "studio"
    """A plain backdrop."""
    kitchen = "kitchen"
    """The table is a kitchen island."""
    workshop = "workshop"
    """The table is a workbench."""
    office = "office"
    """The table is a desk."""
    random = "random"
    """One of the rooms, drawn for every episode."""


@dataclass
class EpisodeCfg:
    """Everything that an episode depends on, besides its number."""

    task: TaskCfg = field(default_factory=TaskCfg)
    """Places of objects, and the goal."""
    object: ObjectCfg = field(default_factory=ObjectCfg)
    """The object that the task is about."""
    objects: list[ObjectCfg] = field(default_factory=list)
    """Further objects."""
    robot: RobotCfg = field(default_factory=RobotCfg)
    """The robot."""
    skills: list[SkillCfg] = field(default_factory=list)
    """The chain of skills, in order."""
    world: WorldCfg = field(default_factory=WorldCfg)
    """Rates and solver settings of the simulation."""
    sensors: list[SensorCfg] = field(default_factory=list)
    """Sensors: entries with a `type`, or names of YAML files of the group `sensor`."""
    camera: CamerasCfg = field(default_factory=CamerasCfg)
    """A set of cameras in addition to `sensors`."""
    planner: PlannerCfg = field(default_factory=PlannerCfg)
    """Effort of the planner."""
    variety: Fraction | None = None
    """How much plans vary: from 0, one plan for each scene, to 1, spread evenly; null: the first plan that serves."""
    randomization: RandomizationCfg = field(default_factory=RandomizationCfg)
    """Randomization beyond the layout."""
    scenery: Scenery = Scenery.studio
    """The room in images; physics and records do not depend on it."""
    disturb: DisturbCfg = field(default_factory=DisturbCfg)
    """How far the executed targets of skills leave the plan."""
    replan: Annotated[int, Range(0, MAX_REPLANS)] = 0
    """How often a skill is planned anew, from where things are, after it missed its grasp, lost its part, was blocked
    or did not get far enough."""
    seed: int = 0
    """Seed of the run; it determines the seed of each episode together with its number."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed={self.seed} is out of range. Expected 0 to 2^63 - 1.", key="seed")
        self.skills = fill_objects(self.skills)
        check_ranges(self)

    def all_objects(self) -> dict[str, ObjectCfg]:
        """Returns `object` and `objects` by name."""
        return {item.name: item for item in (self.object, *self.objects)}

    def all_sensors(self) -> dict[str, SensorCfg]:
        """Returns `camera.cameras` and `sensors` by full key: `camera.cameras[0]`, `sensors[0]`."""
        listed = (("camera.cameras", self.camera.cameras), ("sensors", self.sensors))
        return {f"{key}[{index}]": item for key, items in listed for index, item in enumerate(items)}
