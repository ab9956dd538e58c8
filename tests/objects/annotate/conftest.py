"""Objects of every kind, made of boxes and cylinders without a name that would tell anything."""

import pytest

_SHAPE = '<{tag}{name}><origin xyz="{at}" rpy="{rpy}"/><geometry>{solid}</geometry></{tag}>'
ALONG_X = "0 1.5708 0"


def shape(solid, at, rpy="0 0 0", name=""):
    """Returns a visual and a collider; the visual may have a name."""
    return "".join(
        _SHAPE.format(tag=tag, name=f' name="{name}"' if name and tag == "visual" else "", at=at, rpy=rpy, solid=solid)
        for tag in ("visual", "collision")
    )


def box(at, size, name=""):
    return shape(f'<box size="{size}"/>', at, name=name)


def boxes(*rows):
    """Returns boxes by place and size."""
    return "".join(box(*row) for row in rows)


def cylinder(at, radius, length, rpy="0 0 0"):
    return shape(f'<cylinder radius="{radius}" length="{length}"/>', at, rpy)


def joint(kind, at, axis, lower, upper, *, name="j", child="b"):
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{at}"/><axis xyz="{axis}"/><parent link="a"/>'
        f'<child link="{child}"/><limit lower="{lower}" upper="{upper}" effort="10" velocity="1"/></joint>'
    )


CASE = boxes(
    ("0 0 0.01", "0.4 0.5 0.02"),
    ("0 0 0.39", "0.4 0.5 0.02"),
    ("0 0.24 0.2", "0.4 0.02 0.4"),
    ("0 -0.24 0.2", "0.4 0.02 0.4"),
    ("-0.19 0 0.2", "0.02 0.5 0.4"),
)
"""A cabinet, open towards +x: 0.4 deep, 0.5 wide, 0.4 high, standing on z = 0."""
PLATED = CASE + box("0.2 0 0.2", "0.02 0.5 0.4")
"""The same with a closed front."""
HOLED = CASE + boxes(
    ("0.2 0.129 0.2", "0.02 0.242 0.4"),
    ("0.2 -0.129 0.2", "0.02 0.242 0.4"),
    ("0.2 0 0.306", "0.02 0.016 0.188"),
    ("0.2 0 0.094", "0.02 0.016 0.188"),
)
"""The same whose front has a hole, 16 mm wide and 24 mm high, for a switch."""
TUB = boxes(
    ("0 0 0.01", "0.3 0.4 0.02"),
    ("0.14 0 0.1", "0.02 0.4 0.2"),
    ("-0.14 0 0.1", "0.02 0.4 0.2"),
    ("0 0.19 0.1", "0.3 0.02 0.2"),
    ("0 -0.19 0.1", "0.3 0.02 0.2"),
)
"""A box without a lid: 0.3 deep, 0.4 wide, 0.2 high."""

DOOR = box("0.01 0.245 0", "0.02 0.49 0.4")
"""In its link: hinged at y = 0, reaching to y = 0.49."""
BAR = boxes(("0.06 0.44 0", "0.015 0.015 0.16"), ("0.04 0.44 0.07", "0.04 0.01 0.01"))
DOOR_RIGHT = boxes(
    ("0.01 -0.245 0", "0.02 0.49 0.4"), ("0.06 -0.44 0", "0.015 0.015 0.16"), ("0.04 -0.44 0.07", "0.04 0.01 0.01")
)
"""A door with a bar whose hinge is on the other side."""
FLOATING = box("0.038 0.44 0", "0.012 0.024 0.2")
"""A bar whose posts nobody modelled."""
WIDE = boxes(("0.06 0.42 0", "0.015 0.070001 0.2"), ("0.04 0.42 0.07", "0.04 0.01 0.01"))
"""As wide as a hand opens, and a thousandth of a millimetre that rounding adds."""
RAIL = boxes(("0.06 0.4 0.05", "0.015 0.14 0.015"), ("0.04 0.44 0.05", "0.04 0.01 0.01"))
FLAP = box("0.01 0 0.19", "0.02 0.48 0.38")
"""In its link: hinged at z = 0, reaching up to z = 0.38."""
FLAP_BAR = boxes(("0.06 0 0.34", "0.015 0.2 0.015"), ("0.04 0.08 0.34", "0.04 0.01 0.01"))
FRONT = boxes(
    ("0.01 0 0", "0.02 0.46 0.18"),
    ("-0.15 0 -0.07", "0.3 0.4 0.01"),
    ("-0.15 0.2 0", "0.3 0.01 0.14"),
    ("-0.15 -0.2 0", "0.3 0.01 0.14"),
)
STUD = cylinder("0.03 0 0", 0.006, 0.03, ALONG_X) + cylinder("0.05 0 0", 0.016, 0.02, ALONG_X)
RACK = box("-0.18 0 0", "0.38 0.06 0.34")
"""A narrow drawer, in its link: its front at x = 0.01, thinner than it is deep and high."""
LID = box("0 0 0", "0.25 0.35 0.01")
TRAY = box("-0.19 0 0", "0.3 0.4 0.01", "tray")
WHEEL = cylinder("0 0 0", 0.03, 0.02, ALONG_X)
BUTTON = cylinder("0 0 0", 0.012, 0.012, ALONG_X)

WINDOW = boxes(
    ("0 -0.265 0.23", "0.09 0.03 0.46"),
    ("0 0.265 0.23", "0.09 0.03 0.46"),
    ("0 0 0.015", "0.09 0.5 0.03"),
    ("0 0 0.445", "0.09 0.5 0.03"),
)
"""The frame of a window, 0.56 wide and 0.46 high."""
SASH = boxes(
    ("0 -0.115 0", "0.03 0.035 0.395"),
    ("0 0.115 0", "0.03 0.035 0.395"),
    ("0 0 -0.18", "0.03 0.195 0.035"),
    ("0 0 0.18", "0.03 0.195 0.035"),
    ("0 0 0", "0.005 0.195 0.325"),
)
PULL = boxes(
    ("0.02 0.11 0.06", "0.03 0.012 0.012"),
    ("0.02 0.11 -0.06", "0.03 0.012 0.012"),
    ("0.04 0.11 0", "0.012 0.012 0.14"),
)
SPOUT = boxes(("0 0 0.01", "0.24 0.3 0.02"), ("-0.06 0 0.15", "0.03 0.03 0.26")) + cylinder("0.06 0.1 0.05", 0.01, 0.06)
"""A basin with the stem of a knob at x = 0.06, y = 0.1, and a spout that is much higher."""

HINGED = joint("revolute", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)
HINGED_BELOW = joint("revolute", "0.2 0 0.01", "0 1 0", 0.0, 1.5)
PULLED = joint("prismatic", "0.2 0 0.2", "1 0 0", 0.0, 0.25)
SLID = joint("prismatic", "0.018 0.115 0.23", "0 1 0", -0.215, 0.0)
SWINGING = joint("revolute", "0 0 0.195", "0 1 0", -1.2, 1.2)
ROCKING = joint("revolute", "0.212 0 0.2", "0 1 0", -0.07, 0.07)

OBJECTS = {
    "knob_low": (SPOUT, cylinder("0 0 0.012", 0.022, 0.024), joint("revolute", "0.06 0.1 0.08", "0 0 1", 0.0, 3.0)),
    "rack": (CASE, RACK, joint("prismatic", "0.2 0 0.2", "1 0 0", 0.0, 0.3)),
    "sash": (WINDOW, SASH, SLID),
    "sash_pull": (WINDOW, SASH + PULL, SLID),
    "door": (CASE, DOOR, HINGED),
    "door_bar": (CASE, DOOR + BAR, HINGED),
    "door_floating": (CASE, DOOR + FLOATING, HINGED),
    "door_wide": (CASE, DOOR + WIDE, HINGED),
    "door_rail": (CASE, DOOR + RAIL, HINGED),
    "door_back": (CASE, DOOR + BAR, joint("revolute", "0.2 -0.245 0.2", "0 0 1", -1.6, 0.0)),
    "door_right": (CASE, DOOR_RIGHT, joint("revolute", "0.2 0.245 0.2", "0 0 1", 0.0, 1.6)),
    "flap": (CASE, FLAP, HINGED_BELOW),
    "flap_bar": (CASE, FLAP + FLAP_BAR, HINGED_BELOW),
    "drawer": (CASE, FRONT, PULLED),
    "drawer_back": (CASE, FRONT, joint("prismatic", "0.2 0 0.2", "-1 0 0", -0.25, 0.0)),
    "drawer_knob": (CASE, FRONT + STUD, PULLED),
    "lid": (TUB, box("0.15 0 0.01", "0.3 0.4 0.02"), joint("revolute", "-0.15 0 0.2", "0 -1 0", 0.0, 2.0)),
    "swing_lid": (TUB, LID, SWINGING),
    "swing_lid_handle": (TUB, LID + box("-0.09 0 0.02", "0.02 0.1 0.03", "handle"), SWINGING),
    "swing_door": (
        WINDOW,
        box("0 0 0", "0.02 0.49 0.395"),
        joint("revolute", "0.03 0 0.23", "0 0 1", -1.2, 1.2),
    ),
    "knob": (PLATED, cylinder("0.015 0 0", 0.02, 0.03, ALONG_X), joint("continuous", "0.21 0 0.2", "1 0 0", 0.0, 0.0)),
    "lever": (
        PLATED,
        cylinder("0.02 0 0", 0.01, 0.04, ALONG_X) + box("0.045 0.06 0", "0.015 0.14 0.02"),
        joint("revolute", "0.21 0 0.2", "1 0 0", -1.0, 1.0),
    ),
    "inside": (
        CASE + box("0.21 0 0.39", "0.02 0.5 0.02"),
        FRONT,
        joint("prismatic", "0.2 0 0.2", "1 0 0", -0.1, 0.25),
    ),
    "press": (
        box("0 0 0.1", "0.2 0.3 0.2"),
        box("0.02 0 0", "0.04 0.03 0.015"),
        joint("prismatic", "0.1 0 0.05", "0 0 1", 0.0, 0.1),
    ),
    "button": (PLATED, BUTTON, joint("prismatic", "0.21 0.1 0.3", "-1 0 0", 0.0, 0.003)),
    "mushroom": (
        PLATED,
        cylinder("0.015 0 0", 0.008, 0.03, ALONG_X) + cylinder("0.034 0 0", 0.017, 0.008, ALONG_X),
        joint("prismatic", "0.21 0.1 0.3", "-1 0 0", 0.0, 0.024),
    ),
    "switch": (PLATED, box("0.004 0 0", "0.008 0.02 0.04"), ROCKING),
    "rocker": (HOLED, box("-0.008 0 0", "0.03 0.014 0.02"), joint("revolute", "0.206 0 0.2", "0 1 0", -0.07, 0.07)),
    "thick_rocker": (PLATED, box("0.008 0 0", "0.016 0.02 0.03"), ROCKING),
    "toggle": (PLATED, box("0.012 0 0", "0.024 0.006 0.006"), ROCKING),
    "small_wing": (PLATED, box("0.01 0 0", "0.02 0.06 0.02"), joint("revolute", "0.21 0.02 0.3", "1 0 0", -0.07, 0.07)),
    "lifted": (
        CASE,
        box("0 0 0.005", "0.4 0.5 0.01") + cylinder("0 0 0.03", 0.012, 0.04),
        joint("prismatic", "0 0 0.4", "0 0 1", 0.0, 0.024),
    ),
    "carton": (
        TUB,
        {"b": box("0 0.1 0.003", "0.3 0.2 0.006"), "c": box("0 -0.1 0.003", "0.3 0.2 0.006")},
        joint("revolute", "0 -0.2 0.2", "1 0 0", 0.0, 2.5)
        + joint("revolute", "0 0.2 0.2", "1 0 0", -2.5, 0.0, name="k", child="c"),
    ),
    "oven": (
        CASE,
        {"c": cylinder("0.01 0 0", 0.02, 0.03, ALONG_X), "b": FLAP},
        joint("continuous", "0.2 0 0.395", "1 0 0", 0.0, 0.0, name="k", child="c") + HINGED_BELOW,
    ),
    "tray": (CASE, TRAY, PULLED),
    "oven_rack": (
        CASE,
        {"c": TRAY, "b": box("0.01 0 0.19", "0.02 0.5 0.4")},
        joint("prismatic", "0.2 0 0.2", "1 0 0", 0.0, 0.25, name="k", child="c") + HINGED_BELOW,
    ),
    "cart": (
        CASE,
        {"wheel": WHEEL, "b": DOOR},
        joint("continuous", "0.1 0 -0.03", "1 0 0", 0.0, 0.0, name="k", child="wheel") + HINGED,
    ),
    "hand_wheel": (
        PLATED,
        {"wheel": WHEEL},
        joint("continuous", "0.22 0 0.2", "1 0 0", 0.0, 0.0, name="k", child="wheel"),
    ),
    "panel": (
        CASE,
        {"c": BUTTON, "b": DOOR + BAR},
        joint("prismatic", "0.2 0.247 0.3", "1 0 0", -0.004, 0.0, name="k", child="c") + HINGED,
    ),
}
"""Body, moving links (one: `b`) and joints by name."""


@pytest.fixture
def write(tmp_path):
    """Writes one of the objects, turned about z if wanted, and returns its URDF."""

    def written(name, *, yaw=0.0):
        body, links, joints = OBJECTS[name]
        links = {"a": body, **(links if isinstance(links, dict) else {"b": links})}
        text = '<?xml version="1.0"?>\n<robot name="thing">\n<link name="root"/>\n'
        text += "\n".join(f'<link name="{link}">{shapes}</link>' for link, shapes in links.items())
        text += f'\n<joint name="stand" type="fixed"><origin rpy="0 0 {yaw}"/>'
        text += '<parent link="root"/><child link="a"/></joint>\n'
        path = tmp_path / name / "thing.urdf"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}{joints}\n</robot>\n")
        return path

    return written
