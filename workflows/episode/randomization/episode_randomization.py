"""The randomization of one episode: views of its scene, and rules of its configuration or of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.objects.procedural.textures import texture_file
from unlatch.robots.control.signal_view import SignalView
from unlatch.simcore.errors import ConfigError, WorldError, unknown_name
from unlatch.simcore.randomization.config import RandomizationCfg, ViewCfg, VisualDraw
from unlatch.simcore.randomization.rule import SIMULATION_CONTEXT
from unlatch.simcore.randomization.setup import Setup
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.drives import DriveGroup
from unlatch.simcore.sim.views.articulation_view import ArticulationView
from unlatch.simcore.sim.views.pose_estimate_view import PoseEstimateView
from unlatch.simcore.sim.views.rigid_prim_view import RigidPrimView
from unlatch.simcore.sim.views.view import BodyView
from unlatch.simcore.sim.visuals.appearance import TextureStore
from unlatch.workflows.episode.randomization.distractors import (
    DISTRACTORS,
    Distractor,
    DistractorView,
    FreeTable,
    read_distractors,
    show_distractors,
)
from unlatch.workflows.episode.randomization.randomization_layer import (
    LAYERS,
    KeyedRule,
    RandomizationLayer,
    RecordedLayer,
    find_layer,
    read_layer,
)
from unlatch.workflows.episode.randomization.visual_views import (
    CAMERAS,
    LIGHT,
    ROOM,
    cameras,
    visual_names,
    visual_views,
)
from unlatch.workflows.episode.rooms.room import SCENERY, Room, RoomView
from unlatch.workflows.episode.scene import EpisodeScene

_POSES = ("position", "orientation")


class EpisodeRandomization:
    """All layers of one episode: call `reset` once after the layout, then `step` before every control step."""

    def __init__(
        self,
        scene: EpisodeScene,
        cfg: RandomizationCfg,
        *,
        visual_draw: VisualDraw | None = None,
        room: Room | None = None,
    ) -> None:
        """Makes views and rules; nothing is drawn yet. Rules of floor and walls make a room in place of `room`.

        Raises:
            ConfigError: A rule does not fit the scene; with the rule's key.
        """
        self.cfg = cfg
        self._scene = scene
        self._visual_draw = visual_draw
        self._room = room or Room(scene)
        self._distractors: list[Distractor] = []
        self._distractor_view = DistractorView()
        self._textures = TextureStore(scene.world, texture_file)
        self._made: dict[str, BodyView] = {}
        self._views = self._view_cfgs()
        self._recorded = self._recorded_layers()
        drawn = self._drawn_rules(cfg) if self._recorded is None else []
        anew = self._drawn_rules(visual_draw.cfg) if visual_draw is not None else []
        recorded = {name: layer.rules for name, layer in (self._recorded or {}).items()}
        rules = [*drawn, *anew, *(placed for found in recorded.values() for placed in found)]
        self._check_views(rules)
        self._show_first_room({rule.view for _, rule in rules})
        setups = {name: Setup(keep_firings=True) for name in LAYERS}
        self._register_views(setups, {rule.view for _, rule in rules})
        layers = recorded or self._sort_by_layer(drawn, setups)
        if visual_draw is not None:
            layers["visuals"] = self._sort_by_layer(anew, setups)["visuals"]
        self.layers = {name: RandomizationLayer(name, setups[name], layers[name]) for name in LAYERS}

    def _drawn_rules(self, cfg: RandomizationCfg) -> list[KeyedRule]:
        """Returns the rules of a configuration; a rule of all cameras becomes one rule for each."""
        found: list[KeyedRule] = []
        for index, rule in enumerate(cfg.rules):
            where = f"randomization.rules[{index}]"
            if rule.view == DISTRACTORS and not cfg.distractors.active:
                raise ConfigError(
                    f"{where}.view='{DISTRACTORS}': there are no distractors, randomization.distractors.most is 0. "
                    "Raise it, or remove the rule.",
                    key=f"{where}.view",
                )
            if rule.view == CAMERAS:
                found += [(where, replace(rule, view=camera.cfg.name)) for camera in cameras(self._scene)]
            else:
                found.append((where, rule))
        return found + [("randomization.perception", rule) for rule in cfg.perception.rules(list(self._scene.objects))]

    def _sort_by_layer(self, rules: Sequence[KeyedRule], setups: Mapping[str, Setup]) -> dict[str, list[KeyedRule]]:
        """Returns rules by their layer."""
        found: dict[str, list[KeyedRule]] = {name: [] for name in LAYERS}
        for where, rule in rules:
            found[find_layer(rule, setups, where)].append((where, rule))
        return found

    def _recorded_layers(self) -> dict[str, RecordedLayer] | None:
        """Returns the recorded layers; None where values are drawn."""
        if self.cfg.recorded is None:
            return None
        content = self.cfg.recorded if isinstance(self.cfg.recorded, Mapping) else {}
        where = "randomization.recorded"
        found = {LAYERS[0]: read_layer(content, where)}
        for name in LAYERS[1:]:
            found[name] = read_layer(content.get(name, {}), f"{where}.{name}")
        # a camera of the record may not exist now
        found["visuals"] = found["visuals"].for_views({*self._views, *visual_names(self._scene)})
        return found

    def _view_cfgs(self) -> dict[str, ViewCfg]:
        """Returns the views of bodies by name: one of each whole body, and those of the configuration."""
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
                raise unknown_name(view.body, "a body of this episode", where=f"{key}.body", known=sorted(bodies))
            if view.name in (*views, SIMULATION_CONTEXT):
                raise ConfigError(
                    f"{key}.name='{view.name}' is taken. Expected a name of its own. Rename it.", key=f"{key}.name"
                )
            views[view.name] = view
            try:
                self._get_view(view)
            except WorldError as exc:
                raise ConfigError(f"{key}: {exc.message}", key=key) from exc
        return views

    def _check_views(self, rules: list[KeyedRule]) -> None:
        known = [SIMULATION_CONTEXT, *sorted(self._views), *visual_names(self._scene)]
        for where, rule in rules:
            if rule.view not in known:
                raise unknown_name(rule.view, "a view of this episode", where=f"{where}.view", known=known)

    def _register_views(self, setups: Mapping[str, Setup], used: set[str]) -> None:
        """Registers the views that rules use, in the layers that have their attributes."""
        scene = self._scene
        setups["physics"].register_simulation_context(scene.world)
        for name in sorted(used & self._views.keys()):
            setups["physics"].register_view(self._get_view(self._views[name]))
        for name in sorted(used & scene.objects.keys()):
            setups["sensors"].register_view(PoseEstimateView(scene.objects[name].pose_error, name=name))
        robot = scene.robot
        if robot.body.name in used:
            arms = list(robot.arms.values())
            signals = SignalView(arms, name=robot.body.name, physics_hz=scene.world.cfg.physics_hz)
            setups["sensors"].register_view(signals)
        covers = [] if SCENERY in used else self._room.table_covers()
        for view in visual_views(scene, used, self._textures, covers):
            setups["visuals"].register_view(view)
        if SCENERY in used:
            setups["visuals"].register_view(RoomView(self._room))
        if DISTRACTORS in used:
            setups["visuals"].register_view(self._distractor_view)

    def _get_view(self, cfg: ViewCfg) -> BodyView:
        """Returns a view of a body; it is made on the first call."""
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
        """Fires `on_env_reset` in every layer; the values of the layout are the defaults.

        Raises:
            RecordingError: Recorded values do not fit the scene.
        """
        for name, layer in self.layers.items():
            anew = self._visual_draw if name == "visuals" else None
            recorded = None if self._recorded is None or anew is not None else self._recorded[name].firings
            layer.reset(seed if anew is None else anew.seed, recorded)
        self._update_room()
        self._place_distractors(seed)
        of_robot = self._written_attributes("physics", self._scene.robot.body.name)
        robot = self._scene.robot
        if "joint_positions" in of_robot or "encoder_offset" in self._written_attributes("sensors", robot.body.name):
            for arm in robot.arms.values():
                arm.hold_position()
        if of_robot.intersection(_POSES):
            robot.T_world_root = robot.body.root_pose()
        self._scene.state_tree.update_state()

    def _place_distractors(self, seed: int) -> None:
        """Draws the distractors or takes those of the record, and shows them in a world with visuals."""
        anew = self._visual_draw or VisualDraw(self.cfg, seed)
        if self._recorded is None or self._visual_draw is not None:
            cfg, rng = anew.cfg.distractors, stream(anew.seed, "visuals.distractors")
            self._distractors = FreeTable(self._scene).draw(cfg, rng) if cfg.active else []
        else:
            content = self.cfg.recorded.get("visuals", {}).get("distractors", ())
            self._distractors = read_distractors(content, "randomization.recorded.visuals.distractors")
        shown = self._scene.world.visuals
        bodies = show_distractors(self._scene, self._distractors, self._textures) if shown else []
        if DISTRACTORS in self.layers["visuals"].setup.views:
            self._distractor_view.bind(self._distractors, bodies, FreeTable(self._scene))

    def show(self, frame: int) -> None:
        """Restores the visuals of a state frame; frames may come in any order."""
        self.layers["visuals"].show(frame * self._scene.world.cfg.control_steps)
        self._update_room()

    def _show_first_room(self, used: Set[str]) -> None:
        """Shows the room of the configuration before any rule reads the light and the table, or no room."""
        if used.isdisjoint(ROOM):
            self._room.show()
        else:
            self._room.hide()

    def _update_room(self) -> None:
        """Shows the room that the rules chose; rules of the light replace its light."""
        self._room.show(with_light=LIGHT not in self.layers["visuals"].setup.views)

    def _written_attributes(self, layer: str, body: str) -> set[str]:
        """Returns the attributes of a body that a layer writes, through any view."""
        slots = self.layers[layer].written()
        return {
            slot.attribute.name for slot in slots if slot.view in self._views and self._views[slot.view].body == body
        }

    def homes(self, q_home: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the start joint positions (n,) by arm [rad] after the reset."""
        moved = any(slot.attribute.name == "joint_positions" for slot in self.layers["physics"].written())
        return {name: arm.q if moved else q_home[name] for name, arm in self._scene.robot.arms.items()}

    def step(self) -> None:
        """Counts one control step and fires the rules whose gate is open."""
        for layer in self.layers.values():
            if layer.setup.rules:
                layer.setup.step_randomization()

    def applied(self) -> dict[str, Any]:
        """Returns views, rules and firings as plain values; they suffice to apply the randomization again."""
        recorded = self.cfg.recorded
        views = recorded.get("views", []) if isinstance(recorded, Mapping) else self.cfg.to_dict().get("views", [])
        others = {name: layer.applied() for name, layer in self.layers.items() if name != LAYERS[0]}
        if self._distractors:
            others["visuals"]["distractors"] = [asdict(item) for item in self._distractors]
        return {
            "views": views,
            **self.layers[LAYERS[0]].applied(),
            **{name: content for name, content in others.items() if any(content.values())},
        }

    def lines(self) -> list[str]:
        """Returns one line a rule: when it fires, and the value that the reset wrote."""
        hz = self._scene.world.cfg.control_hz
        lines = [line for layer in self.layers.values() for line in layer.lines(control_hz=hz)]
        lines = [f"randomization {self.cfg.name}: {len(lines)} rules", *lines]
        return lines + ([f"  distractors: {len(self._distractors)}"] if self._distractors else [])
