"""The randomization of one episode: views over its scene, rules of its configuration or of a record, firings kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from configs.reading import read_dataclass
from simcore.errors import ConfigError, RecordingError, WorldError, close_matches
from simcore.randomization.config import RandomizationCfg, RuleCfg, ViewCfg
from simcore.randomization.rule import SIMULATION_CONTEXT
from simcore.randomization.setup import Firing, Setup
from simcore.sim.bodies import Body
from simcore.sim.views.articulation_view import ArticulationView
from simcore.sim.views.rigid_prim_view import RigidPrimView
from workflows.episode_scene import EpisodeScene

_POSES = ("position", "orientation")


class EpisodeRandomization:
    """A set-up of one environment; `reset` once after the layout, then `step` before every control step."""

    def __init__(self, scene: EpisodeScene, cfg: RandomizationCfg) -> None:
        """Makes views and rules; nothing is drawn yet.

        Args:
            scene: The episode's scene, as its layout says.
            cfg: The randomization; one with recorded values writes these.

        Raises:
            ConfigError: A rule does not fit the scene; with the rule's key.
        """
        self.cfg = cfg = _effective(cfg)
        self._scene = scene
        self._setup = Setup(keep_firings=True)
        self._setup.register_simulation_context(scene.world)
        self._register({rule.view for rule in cfg.rules})
        with self._setup.on_rl_frame(num_envs=1):
            for index, rule in enumerate(cfg.rules):
                self._add(rule, f"randomization.rules[{index}]")

    def _register(self, used: set[str]) -> None:
        scene = self._scene
        views = {name: ViewCfg(name=name, body=name) for name in scene.world.bodies}
        for index, view in enumerate(self.cfg.views):
            where = f"randomization.views[{index}]"
            if view.body not in scene.world.bodies:
                known = sorted(scene.world.bodies)
                raise ConfigError(
                    f"{where}.body='{view.body}' is no body of this episode.{close_matches(view.body, known)} Known: "
                    f"{', '.join(known)}. Name one of them.",
                    key=f"{where}.body",
                    available=known,
                )
            if view.name in (*views, SIMULATION_CONTEXT):
                raise ConfigError(
                    f"{where}.name='{view.name}' is taken. Expected a name of its own. Rename it.", key=f"{where}.name"
                )
            views[view.name] = view
            try:
                self._make(view)
            except WorldError as exc:
                raise ConfigError(f"{where}: {exc.message}", key=where) from exc
        for name in sorted(used & views.keys() - self._setup.views.keys()):
            self._make(views[name])
        unknown = sorted(used - views.keys() - {SIMULATION_CONTEXT})
        for index, rule in enumerate(self.cfg.rules):
            if rule.view in unknown:
                known = [SIMULATION_CONTEXT, *sorted(views)]
                raise ConfigError(
                    f"randomization.rules[{index}].view='{rule.view}' is no view of this episode."
                    f"{close_matches(rule.view, known)} Known: {', '.join(known)}. Name one of them.",
                    key=f"randomization.rules[{index}].view",
                    available=known,
                )

    def _make(self, cfg: ViewCfg) -> None:
        world = self._scene.world
        body = world.bodies[cfg.body]
        if body.movable_joints:
            drives = [self._drives_of(body)]
            self._setup.register_articulation_view(
                ArticulationView(
                    world,
                    [body],
                    name=cfg.name,
                    drives=drives,
                    joints=cfg.joints,
                    links=cfg.links,
                    tendons=cfg.tendons,
                )
            )
        else:
            self._setup.register_rigid_prim_view(RigidPrimView(world, [body], name=cfg.name))

    def _drives_of(self, body: Body) -> list[Any]:
        if body is self._scene.robot.body:
            return [arm.drives for arm in self._scene.robot.arms.values()]
        return [self._scene.objects[body.name].drives]

    def _add(self, rule: RuleCfg, where: str) -> None:
        setup = self._setup
        gate = setup.on_interval(rule.interval) if rule.interval is not None else setup.on_env_reset()
        try:
            with gate:
                setup.randomize(
                    rule.view, {rule.attribute: rule.made()}, operation=rule.operation, num_buckets=rule.num_buckets
                )
        except ConfigError as exc:
            key = f"{where}.{'distribution' if exc.values.get('key') == rule.attribute else exc.values.get('key')}"
            raise ConfigError(f"{key}: {exc.message}", **{**exc.values, "key": key}) from exc

    def reset(self, rng: np.random.Generator) -> None:
        """Fires `on_env_reset`; what the layout made is the default.

        Args:
            rng: The episode's stream of physics; not used where recorded values are written.

        Raises:
            RecordingError: Recorded values do not fit the scene.
        """
        if self.cfg.recorded is None:
            self._setup.run(rng)
        else:
            try:
                self._setup.run_recorded(_firings(self.cfg.recorded))
            except ConfigError as exc:
                raise RecordingError(f"Recorded randomization: {exc.message}") from exc
        self._setup.step_randomization([0])
        written = {(rule.slot.view, rule.slot.attribute.name) for rule in self._setup.rules}
        robot = self._scene.robot
        of_robot = {name for view, name in written if self._body_of(view) == robot.body.name}
        if "joint_positions" in of_robot:
            for arm in robot.arms.values():
                arm.hold_position()
        if of_robot.intersection(_POSES):
            robot.T_world_root = robot.body.root_pose()
        self._scene.scene.update_state()

    def _body_of(self, view: str) -> str:
        return self._setup.views[view].bodies[0].name if view in self._setup.views else view

    def homes(self, q_home: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Start joint positions (n,) by arm [rad] after the reset: those of the layout, or what was made of them."""
        moved = any(rule.slot.attribute.name == "joint_positions" for rule in self._setup.rules)
        return {name: arm.q if moved else q_home[name] for name, arm in self._scene.robot.arms.items()}

    def step(self) -> None:
        """Counts one control step and lets the rules fire whose gate is open."""
        self._setup.step_randomization()

    def applied(self) -> dict[str, Any]:
        """Views, rules and every firing so far, as plain values; enough to apply them again."""
        return {
            "views": self.cfg.to_dict().get("views", []),
            "rules": [rule.to_dict() for rule in self._setup.rules],
            "firings": [[firing.step, firing.rule, firing.values[0].tolist()] for firing in self._setup.firings],
        }

    def lines(self) -> list[str]:
        """What fires when, one line a rule, and what the reset wrote."""
        rate = self._scene.world.cfg.control_hz
        lines = [f"randomization {self.cfg.name}: {len(self._setup.rules)} rules"]
        for rule in self._setup.rules:
            slot, gate = rule.slot, rule.gate
            when = "at reset" if gate.interval is None else f"every {gate.interval} control steps "
            when += "" if gate.interval is None else f"({gate.interval / rate:.3g} s)"
            line = f"  {when}: {slot.view}.{slot.attribute.name} {rule.operation.name} {_law(rule.to_dict())}"
            if gate.on_reset:
                line += f" -> {_numbers(slot.defaults[0])} became {_numbers(slot.last_reset[0])}"
            lines.append(f"{line} [{slot.attribute.unit}]")
        return lines


def randomized(scene: EpisodeScene, cfg: RandomizationCfg, rng: np.random.Generator) -> EpisodeRandomization | None:
    """The randomization of a scene after its reset; None where nothing varies.

    Args:
        scene: The episode's scene, as its layout says.
        cfg: The randomization.
        rng: The episode's stream of physics.

    Raises:
        ConfigError: A rule does not fit the scene.
        RecordingError: Recorded values do not.
    """
    if not cfg.active:
        return None
    made = EpisodeRandomization(scene, cfg)
    made.reset(rng)
    return made


def _effective(cfg: RandomizationCfg) -> RandomizationCfg:
    """The configuration with recorded views and rules in place of its own, where there are recorded values."""
    if cfg.recorded is None:
        return cfg
    where = "randomization.recorded"
    content = cfg.recorded if isinstance(cfg.recorded, Mapping) else {}
    views = [
        read_dataclass(ViewCfg, view, where=f"{where}.views[{i}]") for i, view in enumerate(content.get("views", ()))
    ]
    rules = [
        read_dataclass(RuleCfg, rule, where=f"{where}.rules[{i}]") for i, rule in enumerate(content.get("rules", ()))
    ]
    made = RandomizationCfg(name=cfg.name, views=views, rules=rules, source=None)
    made.recorded = content
    return made


def recorded_randomization(applied: Mapping[str, Any], *, name: str) -> RandomizationCfg:
    """The randomization that applies again what a record says was applied; one without rules where that is nothing.

    Args:
        applied: `applied` of a record.
        name: Name of the randomization.
    """
    return RandomizationCfg(name=name, recorded=dict(applied) if applied else None)


def _firings(content: Mapping[str, Any]) -> list[Firing]:
    found = []
    for entry in content.get("firings", ()):
        try:
            step, rule, values = entry
            found.append(
                Firing(int(step), int(rule), np.zeros(1, dtype=int), np.array([values], dtype=float).reshape(1, -1))
            )
        except (TypeError, ValueError) as exc:
            raise RecordingError(
                f"A firing of the record is no [step, rule, values]: {str(entry)[:80]}. It is damaged."
            ) from exc
    return found


def _law(rule: Mapping[str, Any]) -> str:
    content = rule["distribution"]
    inside = ", ".join(f"{key} {value}" for key, value in content.items() if key != "type")
    return f"{content['type']}({inside})"


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    shown = [f"{value:.4g}" for value in np.asarray(values)[:6]]
    return f"[{', '.join(shown)}{', ...' if len(values) > 6 else ''}]"
