"""The randomization of one episode: views of its scene, and rules of its configuration or of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.objects.procedural.textures import texture_file
from unlatch.robots.robot import Arm
from unlatch.simcore.errors import ConfigError, RecordingError, WorldError, unknown_name
from unlatch.simcore.randomization.config import RandomizationCfg, RuleCfg, ViewCfg, VisualDraw
from unlatch.simcore.randomization.setup import SIMULATION_CONTEXT, AttributeSlot, Firing, Setup
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView, BodyView
from unlatch.simcore.sim.body_views import ArticulationView, PoseEstimateView, RigidPrimView
from unlatch.simcore.sim.core import MAX_LATE_STEPS
from unlatch.simcore.sim.visuals.appearance import TextureStore
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.distractors import (
    CONTENTS,
    DISTRACTORS,
    Content,
    Distractor,
    DistractorView,
    FreeTable,
    draw_contents,
    read_contents,
    read_distractors,
    show_contents,
    show_distractors,
)
from unlatch.workflows.episode.scene import EpisodeScene
from unlatch.workflows.episode.visual_views import (
    CAMERAS,
    LIGHT,
    ROOM,
    SCENERY,
    Room,
    RoomView,
    cameras,
    visual_names,
    visual_views,
)

LAYERS = ("physics", "sensors", "visuals")
"""Layers, each named after its stream of the episode."""

KeyedRule = tuple[str, RuleCfg]
"""A rule and its full key."""


class RandomizationLayer:
    """Rules that draw from one stream; adding or removing rules does not change the other layers."""

    def __init__(self, name: str, setup: Setup, rules: Sequence[KeyedRule]) -> None:
        """Makes the rules; nothing is drawn yet.

        Raises:
            ConfigError: A rule does not fit its view; with the rule's key.
        """
        self.name = name
        self.setup = setup
        self._seed = 0
        self._recorded: Sequence[Firing] | None = None
        with setup.on_rl_frame(num_envs=1):
            for where, rule in rules:
                self._add_rule(rule, where)

    def _add_rule(self, rule: RuleCfg, where: str) -> None:
        setup = self.setup
        gate = setup.on_interval(rule.interval) if rule.interval is not None else setup.on_env_reset()
        try:
            with gate:
                setup.randomize(
                    rule.view,
                    {rule.attribute: rule.make_distribution()},
                    operation=rule.operation,
                    num_buckets=rule.num_buckets,
                )
        except ConfigError as exc:
            key = f"{where}.{'distribution' if exc.values.get('key') == rule.attribute else exc.values.get('key')}"
            raise ConfigError(f"{key}: {exc.message}", **{**exc.values, "key": key}) from exc

    def reset(self, seed: int, recorded: Sequence[Firing] | None = None) -> None:
        """Fires `on_env_reset`; the present values are the defaults. Recorded firings replace draws.

        Raises:
            RecordingError: Recorded values do not fit the scene.
        """
        self._seed, self._recorded = seed, recorded
        if recorded is None:
            self.setup.run(stream(seed, self.name))
        else:
            try:
                self.setup.run_recorded(recorded)
            except ConfigError as exc:
                raise RecordingError(f"Recorded randomization: {exc.message}") from exc
        self.setup.step_randomization([0])

    def show(self, step: int) -> None:
        """Restores the values of a control step; steps may come in any order."""
        if self.setup.steps > step + 1:
            for slot in self.written():
                slot.write(np.zeros(1, dtype=int), slot.defaults.copy(), on_reset=True)
            self.reset(self._seed, self._recorded)
        while self.setup.steps <= step:
            self.setup.step_randomization()

    def written(self) -> list[AttributeSlot]:
        """Returns the attributes that its rules write."""
        return [rule.slot for rule in self.setup.rules]

    def applied(self) -> dict[str, Any]:
        """Returns rules and all firings as plain values; they suffice to apply the layer again."""
        return {
            "rules": [rule.to_dict() for rule in self.setup.rules],
            "firings": [[firing.step, firing.rule, firing.values[0].tolist()] for firing in self.setup.firings],
        }

    def lines(self, *, control_hz: int) -> list[str]:
        """Returns one line a rule: when it fires, and the value that the reset wrote."""
        lines = []
        for rule in self.setup.rules:
            slot, gate = rule.slot, rule.gate
            when = "at reset" if gate.interval is None else f"every {gate.interval} control steps "
            when += "" if gate.interval is None else f"({gate.interval / control_hz:.3g} s)"
            line = f"  {when}: {slot.view}.{slot.attribute.name} {rule.operation.name} "
            content = rule.to_dict()["distribution"]
            inside = ", ".join(f"{key} {value}" for key, value in content.items() if key != "type")
            line += f"{content['type']}({inside})"
            if gate.on_reset:
                line += f" -> {_format_numbers(slot.defaults[0])} became {_format_numbers(slot.last_reset[0])}"
            lines.append(f"{line} [{slot.attribute.unit}]")
        return lines


def find_layer(rule: RuleCfg, setups: Mapping[str, Setup], where: str) -> str:
    """Returns the name of the layer whose view has the attribute of a rule.

    Raises:
        ConfigError: No layer has it.
    """
    views = {name: setup.views[rule.view] for name, setup in setups.items() if rule.view in setup.views}
    if rule.view == SIMULATION_CONTEXT:
        return "physics"
    found = [name for name, view in views.items() if rule.attribute in view.attributes]
    if found:
        return found[0]
    try:
        _merge_views(rule.view, list(views.values())).attribute(rule.attribute)
    except ConfigError as exc:
        raise ConfigError(f"{where}.attribute: {exc.message}", **{**exc.values, "key": f"{where}.attribute"}) from exc
    raise ConfigError(f"{where}.attribute='{rule.attribute}' is in no layer.", key=f"{where}.attribute")


def _merge_views(name: str, views: Sequence[AttributeView]) -> AttributeView:
    """Returns one view with the attributes of all, for an error message."""
    merged = AttributeView(name)
    merged.kind = views[0].kind
    for view in views:
        merged.include_attributes(view)
    return merged


@dataclass(frozen=True)
class RecordedLayer:
    """The rules and firings of one recorded layer."""

    rules: list[KeyedRule]
    firings: list[Firing]

    def for_views(self, views: AbstractSet[str]) -> RecordedLayer:
        """Returns the rules and firings of some views."""
        kept = [index for index, (_, rule) in enumerate(self.rules) if rule.view in views]
        places = {index: place for place, index in enumerate(kept)}
        firings = [replace(item, rule=places[item.rule]) for item in self.firings if item.rule in places]
        return RecordedLayer([self.rules[index] for index in kept], firings)


def read_layer(content: Any, where: str) -> RecordedLayer:
    """Reads a layer of a record.

    Raises:
        ConfigError: A rule cannot be read.
        RecordingError: A firing cannot be read.
    """
    given = content if isinstance(content, Mapping) else {}
    rules = [
        (f"{where}.rules[{i}]", read_dataclass(RuleCfg, rule, where=f"{where}.rules[{i}]"))
        for i, rule in enumerate(given.get("rules", ()))
    ]
    return RecordedLayer(rules, _read_firings(given))


def _read_firings(content: Mapping[str, Any]) -> list[Firing]:
    found = []
    for entry in content.get("firings", ()):
        try:
            step, rule, values = entry
            found.append(
                Firing(int(step), int(rule), np.zeros(1, dtype=int), np.array([values], dtype=float).reshape(1, -1))
            )
        except (TypeError, ValueError) as exc:
            raise RecordingError(
                f"A firing of the record is not [step, rule, values]: {str(entry)[:80]}. It is damaged."
            ) from exc
    return found


def _format_numbers(values: Sequence[float] | np.ndarray) -> str:
    shown = [f"{value:.4g}" for value in np.asarray(values)[:6]]
    return f"[{', '.join(shown)}{', ...' if len(values) > 6 else ''}]"


Array = np.ndarray


class SignalView(AttributeView):
    """Errors of the encoders and commands of a robot's arms. An episode has one environment, so `_env` is not used."""

    kind = "signal view"

    def __init__(self, arms: Sequence[Arm], *, name: str, physics_hz: int) -> None:
        """Makes a view of all arms of a robot; the joints of fingers have no encoder here."""
        super().__init__(name)
        self._arms = tuple(arms)
        joints = [joint for arm in arms for joint in arm.cfg.joints]
        words = f"one a joint: {', '.join(joints)}"
        self._add_attribute("encoder_offset", len(joints), "rad", words, self._offsets, self._set_offsets)

        def read_latency(_env: int) -> Array:
            return np.array([self._arms[0].signals.late_steps / physics_hz])

        def write_latency(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.late_steps = round(float(values[0]) * physics_hz)

        most_s = MAX_LATE_STEPS / physics_hz
        self._add_attribute("action_latency", 1, "s", "time", read_latency, write_latency, least=0.0, most=most_s)
        self._add_dropping()

    def _add_dropping(self) -> None:
        def read(_env: int) -> Array:
            return np.array([float(self._arms[0].signals.dropped)])

        def write(_env: int, values: Array) -> None:
            for arm in self._arms:
                arm.signals.dropped = bool(values[0] >= 0.5)

        self._add_attribute("action_dropped", 1, "-", "1: lost", read, write, least=0.0, most=1.0, lasts_one_step=True)

    def _offsets(self, _env: int) -> Array:
        return np.concatenate([arm.signals.encoder_offset_rad for arm in self._arms])

    def _set_offsets(self, _env: int, values: Array) -> None:
        ends = np.cumsum([len(arm.signals.encoder_offset_rad) for arm in self._arms])
        for arm, offsets in zip(self._arms, np.split(values, ends[:-1]), strict=True):
            arm.signals.encoder_offset_rad = offsets


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
        self._contents: list[Content] = []
        self._distractor_view = DistractorView()
        self._textures = TextureStore(texture_file)
        self._made: dict[str, BodyView] = {}
        self._views = self._view_cfgs()
        self._recorded = self._recorded_layers()
        drawn = self._drawn_rules(cfg) if self._recorded is None else []
        anew = self._drawn_rules(visual_draw.cfg) if visual_draw is not None else []
        recorded = {name: layer.rules for name, layer in (self._recorded or {}).items()}
        rules = [*drawn, *anew, *(placed for found in recorded.values() for placed in found)]
        self._check_views(rules)
        # shows the room of the configuration before any rule reads the light and the table, or no room
        used = {rule.view for _, rule in rules}
        if used.isdisjoint(ROOM):
            self._room.show()
        else:
            self._room.hide()
        setups = {name: Setup(keep_firings=True) for name in LAYERS}
        self._register_views(setups, {rule.view for _, rule in rules})
        layers = recorded or self._sort_by_layer(drawn, setups)
        if visual_draw is not None:
            layers["visuals"] = self._sort_by_layer(anew, setups)["visuals"]
        self.layers = {name: RandomizationLayer(name, setups[name], layers[name]) for name in LAYERS}

    def _drawn_rules(self, cfg: RandomizationCfg) -> list[KeyedRule]:
        """Returns the rules of a configuration, one for each camera where it has one for all.

        Rules about the table are left out where the arm has a stand.
        """
        found: list[KeyedRule] = []
        for index, rule in enumerate(cfg.rules):
            where = f"randomization.rules[{index}]"
            if rule.view == DISTRACTORS and not cfg.distractors.active:
                raise ConfigError(
                    f"{where}.view='{DISTRACTORS}': there are no distractors, randomization.distractors.most is 0. "
                    "Raise it, or remove the rule.",
                    key=f"{where}.view",
                )
            if rule.view == TABLE and TABLE not in self._scene.world.bodies:
                continue
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
            world, robot = self._scene.world, self._scene.robot
            body = world.bodies[cfg.body]
            if body.movable_joints:
                owners = robot.arms.values() if body is robot.body else [self._scene.objects[body.name]]
                self._made[cfg.name] = ArticulationView(
                    world,
                    [body],
                    name=cfg.name,
                    drives=[[owner.drives for owner in owners]],
                    joints=cfg.joints,
                    links=cfg.links,
                    tendons=cfg.tendons,
                )
            else:
                self._made[cfg.name] = RigidPrimView(world, [body], name=cfg.name)
        return self._made[cfg.name]

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
        self._place_things(seed)
        of_robot = self._written_attributes("physics", self._scene.robot.body.name)
        robot = self._scene.robot
        if "joint_positions" in of_robot or "encoder_offset" in self._written_attributes("sensors", robot.body.name):
            for arm in robot.arms.values():
                arm.hold_position()
        if of_robot.intersection(_POSES):
            robot.T_world_root = robot.body.root_pose()
        self._scene.state_tree.update_state()

    def _place_things(self, seed: int) -> None:
        """Draws distractors and contents or takes those of the record, and shows them in a world with visuals."""
        anew, scene = self._visual_draw or VisualDraw(self.cfg, seed), self._scene
        if self._recorded is None or self._visual_draw is not None:
            cfg, rng = anew.cfg.distractors, stream(anew.seed, "visuals.distractors")
            self._distractors = FreeTable(scene).draw(cfg, rng) if cfg.active else []
            inside = anew.cfg.contents
            self._contents = (
                draw_contents(scene, inside, stream(anew.seed, f"visuals.{CONTENTS}")) if inside.most else []
            )
        else:
            visuals, where = self.cfg.recorded.get("visuals", {}), "randomization.recorded.visuals"
            self._distractors = read_distractors(visuals.get(DISTRACTORS, ()), f"{where}.{DISTRACTORS}")
            self._contents = read_contents(visuals.get(CONTENTS, ()), f"{where}.{CONTENTS}")
        bodies = []
        if scene.world.visuals:
            bodies = show_distractors(scene, self._distractors, self._textures)
            show_contents(scene, self._contents)
        if DISTRACTORS in self.layers["visuals"].setup.views:
            self._distractor_view.bind(self._distractors, bodies, FreeTable(self._scene))

    def show(self, frame: int) -> None:
        """Restores the visuals of a state frame; frames may come in any order."""
        self.layers["visuals"].show(frame * self._scene.world.cfg.control_steps)
        self._update_room()

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
            others["visuals"][DISTRACTORS] = [asdict(item) for item in self._distractors]
        if self._contents:
            others["visuals"][CONTENTS] = [asdict(item) for item in self._contents]
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
        counts = {DISTRACTORS: len(self._distractors), CONTENTS: len(self._contents)}
        return lines + [f"  {name}: {count}" for name, count in counts.items() if count]


def make_randomization(
    scene: EpisodeScene,
    cfg: RandomizationCfg,
    seed: int,
    *,
    visual_draw: VisualDraw | None = None,
    room: Room | None = None,
) -> EpisodeRandomization:
    """Makes the randomization of a scene and resets it; `room` is the room of the configuration.

    Raises:
        ConfigError: A rule, or a value of the episode that `from` names, does not fit the scene.
        RecordingError: A recorded value does not fit the scene.
    """
    with _explain_misfit(cfg, {name: item.asset.instance for name, item in scene.objects.items()}):
        made = EpisodeRandomization(scene, cfg, visual_draw=visual_draw, room=room)
        made.reset(seed)
    return made


_KEY = "randomization.from"


@contextmanager
def _explain_misfit(cfg: RandomizationCfg, instances: Mapping[str, str]) -> Iterator[None]:
    """Explains an error of recorded values that do not fit an episode: where they come from, and what would fit.

    Raises:
        ConfigError: Recorded values do not fit the scene.
    """
    try:
        yield
    except (ConfigError, RecordingError) as exc:
        if cfg.source is None:
            raise
        here = ", ".join(f"{name} {instance}" for name, instance in instances.items())
        said = exc.message.replace("randomization.recorded.", "its ").removeprefix("Recorded randomization: ")
        for advice in (" Name one of them.", " Use the scene that it was recorded in."):
            said = said.removesuffix(advice)
        raise ConfigError(
            f"{_KEY}='{cfg.source}' does not fit an episode of {here}: {said} Name an episode of the same robot and "
            "objects, or keep the object the same by object.instance.",
            key=_KEY,
        ) from exc
