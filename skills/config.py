"""Configuration of `skills`: the keys that every entry has, and the stages of a chain of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Annotated, ClassVar

from unlatch.objects.annotation import Articulation, Part
from unlatch.simcore.errors import MISSING, AssetError, ConfigError
from unlatch.simcore.ranges import Fraction, Range, Ranged, check_ranges
from unlatch.solver.setting import PlannerSettingCfg, omitted_setting

StageSequences = list[list[int]]
"""One list for each arm of a stage: indices of its skills in the chain, in order."""


def part_acted_on(skill: str, part: str | None, articulation: Articulation) -> Part:
    """Returns the part that a skill acts on: the named one, else the first that the skill fits, else the first.

    `rotate` fits parts that turn in the hand; `open` and `close` fit all others. A button or switch is pressed, so
    `open` takes it only if there is nothing else.

    Raises:
        AssetError: There is no such part, or nothing of the object opens, closes or turns.
    """
    if part is not None:
        return articulation.part(part)
    parts = list(articulation.parts.values())
    if not parts:
        raise AssetError(
            f"{articulation.title} has no part that opens, closes or turns, so skill={skill} does not fit it. Name "
            "another object. A hand can carry a free object, as in `unlatch collect task=place_can object=mug`."
        )
    held = [item for item in parts if skill != "open" or not item.is_button] or parts
    fitting = (item for item in held if item.kind.turns_in_hand == (skill == "rotate"))
    return next(fitting, held[0])


@dataclass
class StrategyCfg:
    """Another strategy to carry out a skill."""

    name: str = MISSING
    """Its name in the record."""
    planner_setting: PlannerSettingCfg = field(default_factory=omitted_setting)
    """The planner setting of this strategy."""

    def __post_init__(self) -> None:
        if self.planner_setting.derived:
            raise ConfigError(
                f"strategies[{self.name}].planner_setting is missing. Expected a setting that replaces the skill's "
                "own. Add it.",
                key="planner_setting",
            )


@dataclass
class SkillCfg:
    """One entry of `skills`."""

    acts: ClassVar[bool] = True
    """Whether an arm acts on its objects; `artpreplan` only names them."""
    needs_objects: ClassVar[bool] = True
    """Whether its `objects` must be given; else they may be those of the nearest entry, see `fill_objects`."""
    name: str = MISSING
    """Name in the skill catalog."""
    objects: list[str] = field(default_factory=list)
    """Objects; the first is acted on."""
    part: str | None = None
    """Part of the annotation; None: the only part or, in a derived task, the first one that the skill fits."""
    obj_info_path: str | None = None
    """An `info.json` of InternDataEngine, whose keypoints and axes replace those of the part for this skill; a path
    from the folder of the object, or from a folder above it. None: those of the annotation."""
    opening: Annotated[float, Range(0.0, 20.0)] | None = None
    """Opening to which `open` or `rotate` leads the part and not further, from closed [rad or m], where the planner
    setting is derived; None: as the goal or the part asks."""
    arm: str | None = None
    """`left` or `right`; None: the arm nearest to the part. After `artpreplan`, all arms are tried, the nearest first,
    and the first one with a plan is taken."""
    stage: int | None = None
    """Number of the stage; None: a stage of its own. Consecutive entries with the same number run at the same time, one
    sequence per arm. Unlatch sets it if `skills` has a list of stages.
    """
    ignore_substring: list[str] = field(default_factory=list)
    """Links whose name contains one of these are left out of the planner's collision pairs."""
    collision_valid: bool = True
    """Whether forbidden contacts fail the skill; switching it off is recorded."""
    process_valid: bool = True
    """Whether overspeed fails the skill; switching it off is recorded."""
    contact_force_threshold_n: Annotated[float, Range(0.0, 1000.0)] = 1.0
    """Force above which a forbidden contact counts [N]."""
    scene_force_threshold_n: Annotated[float, Range(0.0, 1000.0)] | None = 30.0
    """How much more than at rest an object may bear from furniture and other objects for longer than 20 ms [N]; None:
    any force, and objects that no skill names may be touched. If all skills have None, these forces are not recorded.
    """
    ignores_mechanisms: bool = False
    """Whether the skill leads its part as if nothing held it: no button is pressed and no lever turned before. It
    measures what a wrong order does."""
    language: list[str] = field(default_factory=list)
    """Phrasings of this step; `{object}`, `{part}` and `{side}` are filled in."""
    planner_setting: PlannerSettingCfg = field(default_factory=omitted_setting)
    """What the planner solves; if left out, it and `strategies` are derived from the part when the skill begins."""
    strategy: str = "given"
    """Name of the strategy of `planner_setting` in the record."""
    strategies: list[StrategyCfg] = field(default_factory=list)
    """Further strategies, tried in this order where `planner_setting` finds no plan."""
    order: list[str] = field(default_factory=list)
    """Strategies to try first, in this order, by name or beginning of the name: `edge` means `edge+12cm` too."""

    def __post_init__(self) -> None:
        check_ranges(self, f"skills[{self.name}]")
        names = [self.strategy, *(item.name for item in self.strategies)]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"skills[{self.name}].strategies has '{name}' twice. Expected a different name for each strategy. "
                    "Rename it.",
                    key="strategies",
                )

    def entries_by_strategy(self) -> list[SkillCfg]:
        """Returns one entry for each strategy, in the order in which they are tried, with its own `planner_setting`.

        The `strategies` of each are all the others: a skill that grasps its part several times may change the strategy.
        """
        if not self.strategies:
            return [self]
        ranked = [StrategyCfg(self.strategy, self.planner_setting), *self.strategies]
        words = [*self.order, ""]  # every name begins with the last one
        ranked.sort(key=lambda each: next(place for place, word in enumerate(words) if each.name.startswith(word)))
        return [
            replace(
                self,
                strategy=strategy.name,
                planner_setting=strategy.planner_setting,
                strategies=[other for other in ranked if other is not strategy],
            )
            for strategy in ranked
        ]


def fill_objects(chain: Sequence[SkillCfg]) -> list[SkillCfg]:
    """Returns a chain in which entries that need no objects and have none take those of the nearest entry on their arm.

    That is the entry before it or, at the beginning of the chain, the one after it; if none is on its arm, the nearest
    of all. Its part and arm are taken, too. Entries that move no arm, such as `artpreplan`, do not count.
    """
    filled = list(chain)
    for index, entry in enumerate(chain):
        if entry.needs_objects or entry.objects:
            continue
        others = [each for each in (*reversed(filled[:index]), *chain[index + 1 :]) if each.objects and each.acts]
        own = [each for each in others if entry.arm is None or each.arm in (None, entry.arm)]
        for other in (own or others)[:1]:
            filled[index] = replace(entry, objects=other.objects[:1], part=other.part, arm=entry.arm or other.arm)
    return filled


def stages_of(chain: Sequence[SkillCfg]) -> list[StageSequences]:
    """Returns the stages of a chain, in order; the sequences of a stage, one for each arm, run concurrently.

    Neighbours with the same `stage` number form a stage; every other entry is its own stage.
    """
    stages: list[StageSequences] = []
    stage_numbers = [(entry.stage, index if entry.stage is None else -1) for index, entry in enumerate(chain)]
    for _, indices in groupby(range(len(chain)), key=stage_numbers.__getitem__):
        sequences: dict[str | None, list[int]] = {}
        for index in indices:
            sequences.setdefault(chain[index].arm, []).append(index)
        stages.append(list(sequences.values()))
    return stages


@dataclass
class HoldCfg(SkillCfg):
    """Entry of `hold`: the hand holds a fixed handle of the object, while another arm moves `part`."""

    handle: str = MISSING
    """Name of the handle in the object's annotation: `left_handle` or `right_handle` of a pot."""


@dataclass
class HomeCfg(SkillCfg):
    """An entry of `home`: `objects` names what the hand holds or stands beside."""

    needs_objects: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.planner_setting.derived or self.strategies:
            raise ConfigError(
                "skills[home].planner_setting and strategies have no effect: the home of the arm is that of the robot. "
                "Remove them.",
                key="planner_setting",
            )


@dataclass
class DisturbCfg(Ranged, where="disturb"):
    """How far the executed joint targets leave the plan: a YAML file of the group `disturb`.

    The noise of each joint is an Ornstein-Uhlenbeck process, smoothed twice (see `SmoothNoise`). It is 0 where the hand
    stands at the part, and fades in and out before and after.
    """

    name: str = "none"
    """Name of this set of values."""
    free_rad: Annotated[float, Range(0.0, 0.2)] = 0.0
    """Standard deviation of each joint in transit, approach and retreat [rad]."""
    follow_rad: Annotated[float, Range(0.0, 0.05)] = 0.0
    """Standard deviation of each joint while the part is led [rad]."""
    correlation_s: Annotated[float, Range(0.05, 10.0)] = 0.5
    """Correlation time of the noise [s]: as long as a chunk of 16 actions of a policy, whose errors last as long."""
    fade_s: Annotated[float, Range(0.0, 5.0)] = 0.5
    """Time in which the noise fades in and out [s]."""

    nudge_probability: Fraction = 0.0
    """Probability with which the part is pushed while the hand is on its way to it, so that the plan is out of date."""

    @property
    def moves_targets(self) -> bool:
        """Whether executed targets leave the plan."""
        return self.free_rad > 0.0 or self.follow_rad > 0.0
