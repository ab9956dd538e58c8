"""The randomization of one episode: views over its scene, rules of its configuration or of a record, firings kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from configs.reading import read_dataclass
from robots.signal_view import SignalView
from simcore.errors import ConfigError, WorldError, close_matches
from simcore.randomization.config import RandomizationCfg, ViewCfg
from simcore.randomization.rule import SIMULATION_CONTEXT
from simcore.randomization.setup import Setup
from simcore.rng import stream
from simcore.sim.bodies import Body
from simcore.sim.drives import DriveGroup
from simcore.sim.views.articulation_view import ArticulationView
from simcore.sim.views.rigid_prim_view import RigidPrimView
from simcore.sim.views.sighting_view import SightingView
from simcore.sim.views.view import View
from workflows.episode_scene import EpisodeScene
from workflows.randomization_layer import LAYERS, PlacedRule, RandomizationLayer, layer_of, read_rules

_POSES = ("position", "orientation")


class EpisodeRandomization:
    """Layers of one environment; `reset` once after the layout, then `step` before every control step."""

    def __init__(self, scene: EpisodeScene, cfg: RandomizationCfg) -> None:
        """Makes views and rules; nothing is drawn yet.

        Args:
            scene: The episode's scene, as its layout says.
            cfg: The randomization; one with recorded values writes these.

        Raises:
            ConfigError: A rule does not fit the scene; with the rule's key.
        """
        self.cfg = cfg
        self._scene = scene
        self._recorded = _recorded_layers(cfg)
        self._made: dict[str, View] = {}
        self._views = self._view_cfgs()
        setups = {name: Setup(keep_firings=True) for name in LAYERS}
        rules = self._placed_rules()
        self._check_views([placed for found in rules.values() for placed in found])
        self._register(setups, {rule.view for found in rules.values() for _, rule in found})
        if self._recorded is None:
            (placed,) = rules.values()
            rules = {name: [] for name in LAYERS}
            for where, rule in placed:
                rules[layer_of(rule, setups, where)].append((where, rule))
        self.layers = {name: RandomizationLayer(name, setups[name], rules.get(name, [])) for name in LAYERS}

    def _placed_rules(self) -> dict[str, list[PlacedRule]]:
        """Rules by layer, as they were recorded; all under one name where they are drawn anew."""
        cfg = self.cfg
        if self._recorded is not None:
            return {
                name: read_rules(content, "randomization.recorded" + ("" if name == LAYERS[0] else f".{name}"))
                for name, content in self._recorded.items()
            }
        own = [(f"randomization.rules[{index}]", rule) for index, rule in enumerate(cfg.rules)]
        told = [("randomization.perception", rule) for rule in cfg.perception.rules(list(self._scene.objects))]
        return {"": [*own, *told]}

    def _view_cfgs(self) -> dict[str, ViewCfg]:
        """Views of bodies by name: one of each body as a whole, and those of the configuration."""
        bodies = self._scene.world.bodies
        views = {name: ViewCfg(name=name, body=name) for name in bodies}
        content, where = self.cfg.views, "randomization.views"
        if isinstance(self.cfg.recorded, Mapping):
            where = "randomization.recorded.views"
            content = [
                read_dataclass(ViewCfg, view, where=f"{where}[{i}]")
                for i, view in enumerate(self.cfg.recorded.get("views", ()))
            ]
        for index, view in enumerate(content):
            key = f"{where}[{index}]"
            if view.body not in bodies:
                known = sorted(bodies)
                raise ConfigError(
                    f"{key}.body='{view.body}' is no body of this episode.{close_matches(view.body, known)} Known: "
                    f"{', '.join(known)}. Name one of them.",
                    key=f"{key}.body",
                    available=known,
                )
            if view.name in (*views, SIMULATION_CONTEXT):
                raise ConfigError(
                    f"{key}.name='{view.name}' is taken. Expected a name of its own. Rename it.", key=f"{key}.name"
                )
            views[view.name] = view
            try:
                self._view(view)
            except WorldError as exc:
                raise ConfigError(f"{key}: {exc.message}", key=key) from exc
        return views

    def _check_views(self, rules: list[PlacedRule]) -> None:
        known = [SIMULATION_CONTEXT, *sorted(self._views)]
        for where, rule in rules:
            if rule.view not in known:
                raise ConfigError(
                    f"{where}.view='{rule.view}' is no view of this episode."
                    f"{close_matches(rule.view, known)} Known: {', '.join(known)}. Name one of them.",
                    key=f"{where}.view",
                    available=known,
                )

    def _register(self, setups: Mapping[str, Setup], used: set[str]) -> None:
        """Registers the views that rules use, in the layers that they have attributes in."""
        scene = self._scene
        setups["physics"].register_simulation_context(scene.world)
        for name in sorted(used & self._views.keys()):
            setups["physics"].register_view(self._view(self._views[name]))
        for name in sorted(used & scene.objects.keys()):
            setups["sensors"].register_view(SightingView(scene.objects[name].sighting, name=name))
        robot = scene.robot
        if robot.body.name in used:
            arms = list(robot.arms.values())
            signals = SignalView(arms, name=robot.body.name, control_hz=scene.world.cfg.control_hz)
            setups["sensors"].register_view(signals)

    def _view(self, cfg: ViewCfg) -> View:
        """A view of a body, made once: what it declares acts from then on."""
        if cfg.name not in self._made:
            world = self._scene.world
            body = world.bodies[cfg.body]
            self._made[cfg.name] = (
                ArticulationView(
                    world,
                    [body],
                    name=cfg.name,
                    drives=[self._drives_of(body)],
                    joints=cfg.joints,
                    links=cfg.links,
                    tendons=cfg.tendons,
                )
                if body.movable_joints
                else RigidPrimView(world, [body], name=cfg.name)
            )
        return self._made[cfg.name]

    def _drives_of(self, body: Body) -> list[DriveGroup]:
        if body is self._scene.robot.body:
            return [arm.drives for arm in self._scene.robot.arms.values()]
        return [self._scene.objects[body.name].drives]

    def reset(self, seed: int) -> None:
        """Fires `on_env_reset` in every layer; what the layout made is the default.

        Args:
            seed: Seed of the episode, for its streams; not used where recorded values are written.

        Raises:
            RecordingError: Recorded values do not fit the scene.
        """
        for name, layer in self.layers.items():
            layer.reset(stream(seed, name), None if self._recorded is None else self._recorded.get(name, {}))
        of_robot = self._written("physics", self._scene.robot.body.name)
        robot = self._scene.robot
        if "joint_positions" in of_robot or "encoder_offset" in self._written("sensors", robot.body.name):
            for arm in robot.arms.values():
                arm.hold_position()
        if of_robot.intersection(_POSES):
            robot.T_world_root = robot.body.root_pose()
        self._scene.scene.update_state()

    def _written(self, layer: str, body: str) -> set[str]:
        """Attributes of a body that a layer writes, through whatever view."""
        slots = self.layers[layer].written()
        return {
            slot.attribute.name for slot in slots if slot.view in self._views and self._views[slot.view].body == body
        }

    def homes(self, q_home: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Start joint positions (n,) by arm [rad] after the reset: those of the layout, or what was made of them."""
        moved = any(slot.attribute.name == "joint_positions" for slot in self.layers["physics"].written())
        return {name: arm.q if moved else q_home[name] for name, arm in self._scene.robot.arms.items()}

    def step(self) -> None:
        """Counts one control step and lets the rules fire whose gate is open."""
        for layer in self.layers.values():
            if layer.setup.rules:
                layer.step()

    def applied(self) -> dict[str, Any]:
        """Views, and of every layer rules and firings so far, as plain values; enough to apply them again."""
        recorded = self.cfg.recorded
        views = recorded.get("views", []) if isinstance(recorded, Mapping) else self.cfg.to_dict().get("views", [])
        others = {name: layer.applied() for name, layer in self.layers.items() if name != LAYERS[0]}
        return {
            "views": views,
            **self.layers[LAYERS[0]].applied(),
            **{name: content for name, content in others.items() if content["rules"]},
        }

    def lines(self) -> list[str]:
        """What fires when, one line a rule, and what the reset wrote."""
        hz = self._scene.world.cfg.control_hz
        lines = [line for layer in self.layers.values() for line in layer.lines(control_hz=hz)]
        return [f"randomization {self.cfg.name}: {len(lines)} rules", *lines]


def randomized(scene: EpisodeScene, cfg: RandomizationCfg, seed: int) -> EpisodeRandomization | None:
    """The randomization of a scene after its reset; None where nothing varies.

    Args:
        scene: The episode's scene, as its layout says.
        cfg: The randomization.
        seed: Seed of the episode.

    Raises:
        ConfigError: A rule does not fit the scene.
        RecordingError: Recorded values do not.
    """
    if not cfg.active:
        return None
    made = EpisodeRandomization(scene, cfg)
    made.reset(seed)
    return made


def _recorded_layers(cfg: RandomizationCfg) -> dict[str, Mapping[str, Any]] | None:
    """What a record says of every layer; None where all is drawn anew."""
    if cfg.recorded is None:
        return None
    content = cfg.recorded if isinstance(cfg.recorded, Mapping) else {}
    found = {LAYERS[0]: content, **{name: content.get(name, {}) for name in LAYERS[1:]}}
    return {name: layer if isinstance(layer, Mapping) else {} for name, layer in found.items()}


def recorded_randomization(applied: Mapping[str, Any], *, name: str) -> RandomizationCfg:
    """The randomization that applies again what a record says was applied; one without rules where that is nothing.

    Args:
        applied: `applied` of a record.
        name: Name of the randomization.
    """
    return RandomizationCfg(name=name, recorded=dict(applied) if applied else None)
