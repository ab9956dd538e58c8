"""The contract of a constraint or cost term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.skills.articulation import ArticulationSkill
from unlatch.solver.goal.goal_solver import GoalSolver
from unlatch.solver.goal.verify import row_excess
from unlatch.solver.scene import ArmModel, PlanningScene
from unlatch.solver.terms.catalog import COSTS, TERMS
from unlatch.solver.terms.term import Term, read_term
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import PlanCfg
from unlatch.workflows.testing.contract_checks import require

Array = np.ndarray

_POSES = 8
_UNITS = ("m", "rad")
_SLACK = 1e-5


def check_term(entry: Mapping[str, Any], *, task: str = "open_microwave") -> None:
    """Checks the contract of a term with an entry that can be satisfied.

    Its type is the name of its entry point; its fields are read, and an unknown field is refused; it lists the
    keypoints of its fields; its row depends on fields, hand and scene alone and has finite values. For a constraint,
    the solver finds joints that satisfy it, and its own value there is within the tolerance.

    Args:
        entry: As in `constraint_list` or `cost_list`, with its `type`.
        task: A task whose first skill gives arm and part.

    Raises:
        AssertionError: A condition is broken; the message names it.
        ConfigError: The entry is wrong.
    """
    name = str(entry.get("type"))
    catalog = COSTS if name in COSTS.names() else TERMS
    require(name in catalog.names(), f"Term '{name}' is not listed. Is its package installed?")
    cls: type[Term] = catalog.load(name)
    require(name == cls.TYPE, f"Term '{name}' has TYPE='{cls.TYPE}'. Expected the name of its entry point.")
    term = read_term(cls, entry, where="entry")
    _check_unknown_field(cls, entry)
    _check_names(term, entry)
    with EpisodeRunner(load_config("plan", PlanCfg, [f"task={task}"]).cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        index = next(i for i, item in enumerate(episode.cfg.skills) if item.name != "artpreplan")
        skill = episode.planner.make_skill(episode.planner.strategies(index)[0])
        if not isinstance(skill, ArticulationSkill):
            raise ConfigError(f"task={task}: its first skill acts on no part. Expected one that does. Name another.")
        request = skill.request()
    _check_row(term, request.arm, request.scene)
    if catalog is TERMS:
        _check_solved(term, request.arm, request.scene)


def _check_unknown_field(cls: type[Term], entry: Mapping[str, Any]) -> None:
    try:
        read_term(cls, {**entry, "not_a_field": 1}, where="entry")
    except ConfigError:
        return
    raise AssertionError(f"Term '{cls.TYPE}' accepts an entry with the unknown field 'not_a_field'.")


def _check_names(term: Term, entry: Mapping[str, Any]) -> None:
    for what, names in (("tool_names", term.tool_names()), ("object_names", term.object_names())):
        for field, value in names.items():
            require(
                entry.get(field) == value,
                f"Term '{term.TYPE}' says in {what} that its field '{field}' is '{value}', the entry has "
                f"{entry.get(field)!r}.",
            )


def _check_row(term: Term, arm: ArmModel, scene: PlanningScene) -> None:
    row, again = term.row(arm.tool_keypoints, scene), term.row(arm.tool_keypoints, scene)
    require(row.unit in _UNITS, f"The row of term '{term.TYPE}' is in '{row.unit}'. Expected one of {_UNITS}.")
    rng = np.random.default_rng(0)
    for _ in range(_POSES):
        R, p = matrix_from_axis_angle(rng.normal(size=3), rng.uniform(0.1, 3.0)), rng.uniform(-0.5, 0.5, 3)
        value, second = float(row.value(R, p)), float(again.value(R, p))
        require(np.isfinite(value), f"Term '{term.TYPE}' has the value {value} at the hand's pose {R.tolist()}, {p}.")
        require(value == second, f"Term '{term.TYPE}' has the value {value}, and {second} when it is computed again.")


def _check_solved(term: Term, arm: ArmModel, scene: PlanningScene) -> None:
    solution = GoalSolver(arm).solve([term], scene, q_reference=arm.q_home)
    require(
        solution.found,
        f"No joints are found at which term '{term.TYPE}' holds: {solution}. Give an entry that can be met, or mend "
        "its row.",
    )
    R, p = arm.kinematics.fk_batch(solution.q[None])
    tool = dict(arm.tool_variants())[solution.tool_variant]
    out = float(row_excess([term.row(tool, scene)], R, p).max())
    require(out <= _SLACK, f"Term '{term.TYPE}' misses its tolerance by {out:.2g} at the joints that the solver found.")
