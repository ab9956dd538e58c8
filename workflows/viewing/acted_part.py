"""The part that a skill of a recorded episode acts on, and the hand that acts on it, as a camera sees them."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.scene_object import SceneObject
from unlatch.workflows.viewing.scene_picture import RecordedWorld

_HELD_AT, _PUSHED_AT = "articulated_object_head", "link_contact_point"


@dataclass(frozen=True)
class ActedPart:
    """What a skill acts on, and with which hand."""

    item: SceneObject
    """The object."""
    link: str
    """Link of the object that is acted on."""
    point_key: str
    """Array of the record, (T+1, 3): the point that the hand acts on, in the world frame [m]."""
    arm_key: str
    """Prefix of the arrays of the arm."""
    fingers: frozenset[str]
    """Labels of the fingers, `<body>/<link>`."""

    @property
    def label(self) -> str:
        """Label of the link, `<body>/<link>`."""
        return self.item.body.label(self.item.body.link_index(self.link))


def find_acted_part(shown: RecordedWorld, skill: int) -> ActedPart:
    """Returns what a skill of an episode acts on.

    Args:
        shown: The recorded episode.
        skill: Index into the skills of the record.
    """
    cfg, scene, entry = shown.episode.cfg, shown.episode.scene, shown.record.skills[skill]
    arm = scene.robot.arm(entry.get("arm", cfg.skills[skill].arm))
    item, part = scene.objects[entry["object"]], entry["part"]
    if part is None:
        link, key = item.asset.model.root, f"objects.{entry['object']}.root_position"
    else:
        point = _HELD_AT if entry.get("finger_contact_required", True) else _PUSHED_AT
        link, key = item.asset.articulation.part(part).link, f"keypoints.{entry['object']}.{part}.{point}"
    fingers = frozenset(f"{cfg.robot.name}/{name}" for name in arm.cfg.gripper.finger_links)
    return ActedPart(item, link, key, f"robots.{cfg.robot.name}.{arm.name}", fingers)
