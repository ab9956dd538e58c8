"""A desk stapler: an arm with a hinge at the back, which stays where it is released.

Sizes come from catalogues of full-strip desk staplers: 13 to 19 cm long, 3.2 to 4 cm wide, the arm raised by 15 to 20
degrees.
"""

from __future__ import annotations

import numpy as np

from unlatch.objects import (
    CHROME,
    DARK,
    HOLDING,
    LID_BEHIND,
    PLASTICS,
    Assembly,
    Drawn,
    Handle,
    HandleType,
    LinkBuilder,
    ObjectGenerator,
    PanelBuilder,
    PanelGrip,
    lid_motion,
    one_of,
    uniform,
)
from unlatch.sim import Pose

_GAP_M = 0.004


STAPLER = {
    "length_m": uniform(0.13, 0.19),
    "width_m": uniform(0.032, 0.040),
    "base_m": uniform(0.012, 0.018),  # thickness of the base
    "arm_m": uniform(0.022, 0.030),  # height of the arm
    "limit_rad": uniform(0.26, 0.35),  # angle of the open arm
    "holding": uniform(HOLDING, 1.6),  # friction of the hinge divided by the moment of gravity
    "damping_n_m_s": uniform(0.005, 0.02),
    "colour": one_of(PLASTICS),
}
"""The values that vary between staplers."""


def build(assembly: Assembly, p: Drawn) -> None:
    """Builds a stapler.

    The root frame is at the middle of the bottom, z up, x away from the hinge. The arm's frame is on the hinge, and
    parallel to the root frame when the stapler is closed.
    """
    half_length, half = p.length_m / 2, p.width_m / 2
    body = LinkBuilder("body")
    body.box("base", (-half_length, -half, 0.0), (half_length, half, p.base_m), rgba=DARK)
    lower, upper = (half_length - 0.022, -0.008, p.base_m), (half_length - 0.008, 0.008, p.base_m + 0.001)
    body.visual.box("anvil", lower, upper, rgba=CHROME)
    assembly.add_body(body, mass_kg=body.mass_kg(3000.0), edge=(half_length, 0.0, p.base_m))

    arm = PanelBuilder("arm", LID_BEHIND)
    reach = p.length_m - 0.004
    arm.box("rail", (0.002, -0.7 * half, _GAP_M), (reach, 0.7 * half, _GAP_M + 0.4 * p.arm_m), rgba=CHROME)
    arm.box("cap", (0.0, -half, _GAP_M + 0.4 * p.arm_m), (reach, half, _GAP_M + p.arm_m), rgba=p.colour)
    top = _GAP_M + p.arm_m
    # a hand can hold the arm near its free end, with the fingers along y
    head = LID_BEHIND.at(reach - 0.02, 0.0, _GAP_M + 0.7 * p.arm_m)
    R_link_handle = np.column_stack([LID_BEHIND.along, LID_BEHIND.across, -LID_BEHIND.rotation[:, 2]])
    size = np.array([p.width_m, 0.04, 0.6 * p.arm_m])
    motion = lid_motion(LID_BEHIND, (-half_length, 0.0, p.base_m), p)
    grip = PanelGrip(Handle(HandleType.knob, size, Pose(R_link_handle, head)), head, LID_BEHIND)
    push = LID_BEHIND.at(reach - 0.025, 0.0, top)
    assembly.add_part(arm, motion, grip, mass_kg=arm.mass_kg(1800.0), push=push)


generate = ObjectGenerator("stapler", STAPLER, build)
