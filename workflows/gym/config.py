"""The action space and the observation space of a policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Annotated, Any

from unlatch.simcore.catalogs import RENDERERS, SOFTWARE
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.ranges import Count, Range, Ranged, check_ranges
from unlatch.simcore.recording.export.config import ColumnsCfg, ExportCfg
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.state import Rendering


class ActionMode(Enum):
    """What the numbers of an action mean."""

    joint_position = "joint_position"
    joint_delta = "joint_delta"
    ee_delta = "ee_delta"


class SuccessWhen(Enum):
    """When a policy has succeeded; either way, the goal has held for `task.settle_s` (see `success_rules`)."""

    held = "held"
    """The arms may move meanwhile."""
    still = "still"
    """No target of an arm has changed meanwhile, as in a demonstration."""


class GripperForm(Enum):
    """What an action's number of a gripper means."""

    own = "own"
    """Opening [m] under `joint_position`, else -1 (closed) to 1 (open)."""
    closed_1 = "closed_1"
    """0 (open) to 1 (closed), as in DROID."""
    closed_sign = "closed_sign"
    """-1 (open) to 1 (closed), as in LIBERO."""


@dataclass
class ActionCfg(Ranged, where="action"):
    """The action space: for each arm, the numbers of its joints or its hand, and then of its gripper."""

    mode: ActionMode = ActionMode.joint_position
    """`joint_position`: joint targets of the frame [rad], as recorded; the motors follow a spline of them, two frames
    later. `joint_delta`: change of the joint targets, -1 to 1; `ee_delta`: change of the hand's target, position then
    rotation vector in the arm's base frame, -1 to 1. The gripper: opening [m] under `joint_position`, else -1 (closed)
    to 1 (open)."""
    max_joint_delta_rad: Annotated[float, Range(0.0, 1.0, above=True)] = 0.05
    """Change of a joint target for the value 1 under `joint_delta` [rad a frame]."""
    max_ee_delta_m: Annotated[float, Range(0.0, 1.0, above=True)] = 0.02
    """Change of a position for the value 1 under `ee_delta` [m a frame]."""
    max_ee_delta_rad: Annotated[float, Range(0.0, 1.0, above=True)] = 0.1
    """Change of a rotation for the value 1 under `ee_delta` [rad a frame]."""
    gripper: GripperForm = GripperForm.own
    """The number of the gripper: `own` (as `mode` says), `closed_1` (0 open, 1 closed, as in DROID) or `closed_sign`
    (-1 open, 1 closed, as in LIBERO)."""
    chunk: Count | None = None
    """Of an answer of a policy server that holds several actions, this many are executed; null: all."""
    latency_s: Annotated[float, Range(0.0, 10.0)] = 0.0
    """Simulated time between an observation and the answer of a policy server [s], rounded up to whole frames; the arms
    hold their targets meanwhile."""
    lost_share: Annotated[float, Range(0.0, 0.99)] = 0.0
    """Share of the answers of a policy server that never arrive; it is then asked again. Drawn for each episode."""

    def server_keys(self) -> list[str]:
        """Returns the keys that are set and have an effect with a policy server only, such as `action.chunk=8`."""
        keys = ("chunk", "latency_s", "lost_share")
        return [f"action.{key}={getattr(self, key)}" for key in keys if getattr(self, key) != getattr(ActionCfg, key)]


@dataclass
class ObservationCfg(ColumnsCfg):
    """The observation space: a map from record keys to arrays."""

    keys: list[str] = field(
        default_factory=lambda: ["robots.*", "objects.*.root_*", "parts.*", "keypoints.*", "sensors.*"]
    )
    """Record keys (docs/record_format.md); `*` matches any text. `keypoints.*` are the keypoints of the parts that are
    acted on; `parts.<object>.<part>.joint_position` and `.joint_velocity` are the joints of these parts. A key that
    matches nothing is refused, unless it is one of these defaults or begins with `sensors.`."""

    map: dict[str, Any] = field(default_factory=dict)
    """With `policy=openpi://...`: what the server gets, a source by key of its messages. A source is `language`,
    `gripper_closed` (0 open, 1 closed), an observed key in which `*` matches any text, or a list of these, whose
    numbers are joined. Empty: every observed key, and `prompt`."""
    images: list[str] = field(default_factory=list)
    """Kinds of images that the configured `sensors` make: `rgb`, `depth`, `segmentation`, `instance_id_segmentation`,
    `normals`. They are observed under `sensors.<name>.<kind>_image` and never recorded."""
    images_every: Count | None = None
    """New images are made in the first frame that is observed and in every so many frames after it; the observation
    repeats the last ones in between, and points by camera too. At 30 frames a second, 3 stands for cameras of 10 Hz.
    Null: when the policy predicts its next actions, if it is a checkpoint of LeRobot that says how many of them it
    executes; else in every frame."""
    renderer: str = SOFTWARE
    """Name in the catalog of renderers; it draws these images and those that give points by camera."""
    columns: bool = False
    """Whether the columns of an export are observed too, as `unlatch export` makes them: `observation.state`,
    `observation.environment_state` and `observation.keypoints`, and with `images=[rgb]` `observation.images.<name>`.
    `keys` may then be empty."""

    def __post_init__(self) -> None:
        self._check_images()
        self._check_columns()
        if not self.has_images:
            for key, without in (("images_every", (None, 1)), ("renderer", (SOFTWARE,))):
                if getattr(self, key) not in without:
                    raise ConfigError(
                        f"observation.{key}={getattr(self, key)} has no effect: no images are observed, and no points "
                        f"by camera. Set observation.images=[rgb], or remove observation.{key}.",
                        key=f"observation.{key}",
                    )

    def _check_images(self) -> None:
        kinds = [kind.name for kind in Rendering]
        for image in self.images:
            if image not in kinds:
                raise unknown_name(image, "a kind of image", where="observation.images", known=kinds)
        check_ranges(self, "observation")
        # the catalog searches the installed packages, which takes time
        if self.renderer != SOFTWARE and self.renderer not in RENDERERS.names():
            if text := RENDERERS.explain_former(self.renderer):
                raise ConfigError(f"observation.renderer={self.renderer}: {text}", key="observation.renderer")
            raise unknown_name(self.renderer, "a renderer", where="observation.renderer", known=RENDERERS.names())

    def _check_columns(self) -> None:
        columns, untouched = self.as_export(), ExportCfg()
        if self.columns:
            return
        for key in vars(untouched):
            value = getattr(columns, key)
            if value != getattr(untouched, key):
                text = json.dumps(plain(value), separators=(",", ":")).replace('"', "")
                raise ConfigError(
                    f"observation.{key}={text} needs observation.columns=true: it belongs to the columns of an export, "
                    f"and they are not observed. Set observation.columns=true, or remove observation.{key}.",
                    key=f"observation.{key}",
                )
        if not self.keys:
            raise ConfigError(
                "observation.keys is empty. Expected record keys such as 'robots.*'. Name at least one, or set "
                "observation.columns=true.",
                key="observation.keys",
            )

    @property
    def has_images(self) -> bool:
        """Whether images are observed, or made for points by camera."""
        return bool(self.images) or self.has_camera_points

    @property
    def has_camera_points(self) -> bool:
        """Whether a point cloud by cameras is observed."""
        return self.columns and self.as_export().has_camera_points

    def as_export(self) -> ExportCfg:
        """Returns the columns as the configuration of an export.

        Raises:
            ConfigError: `state` is empty, or has a value twice.
        """
        shared = {item.name for item in fields(ExportCfg)}
        return ExportCfg(**{key: value for key, value in vars(self).items() if key in shared})
