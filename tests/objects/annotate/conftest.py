"""Objects of every kind, made of boxes and cylinders without a name that would tell anything."""

import pytest

_BOX = '<{tag}><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></{tag}>'
_CYLINDER = '<{tag}><origin xyz="{at}" rpy="{rpy}"/><geometry><cylinder radius="{r}" length="{l}"/></geometry></{tag}>'


def box(at, size):
    return "".join(_BOX.format(tag=tag, at=at, size=size) for tag in ("visual", "collision"))


def named(shapes, name):
    """Returns shapes whose visuals have a name: by its shape alone, a panel about its middle is a knob."""
    return shapes.replace("<visual", f'<visual name="{name}"')


def cylinder(at, radius, length, rpy="0 0 0"):
    return "".join(
        _CYLINDER.format(tag=tag, at=at, rpy=rpy, r=radius, l=length) for tag in ("visual", "collision")
    )  # fmt: skip


def joint(name, kind, child, at, axis, lower, upper):
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{at}"/><axis xyz="{axis}"/><parent link="a"/>'
        f'<child link="{child}"/><limit lower="{lower}" upper="{upper}" effort="10" velocity="1"/></joint>'
    )


CASE = (
    box("0 0 0.01", "0.4 0.5 0.02")
    + box("0 0 0.39", "0.4 0.5 0.02")
    + box("0 0.24 0.2", "0.4 0.02 0.4")
    + box("0 -0.24 0.2", "0.4 0.02 0.4")
    + box("-0.19 0 0.2", "0.02 0.5 0.4")
)
"""A cabinet, open towards +x: 0.4 deep, 0.5 wide, 0.4 high, standing on z = 0."""
TUB = (
    box("0 0 0.01", "0.3 0.4 0.02")
    + box("0.14 0 0.1", "0.02 0.4 0.2")
    + box("-0.14 0 0.1", "0.02 0.4 0.2")
    + box("0 0.19 0.1", "0.3 0.02 0.2")
    + box("0 -0.19 0.1", "0.3 0.02 0.2")
)
"""A box without a lid: 0.3 deep, 0.4 wide, 0.2 high."""

DOOR = box("0.01 0.245 0", "0.02 0.49 0.4")
"""In its link: hinged at y = 0, reaching to y = 0.49."""
BAR = box("0.06 0.44 0", "0.015 0.015 0.16") + box("0.04 0.44 0.07", "0.04 0.01 0.01")
FLOATING = box("0.038 0.44 0", "0.012 0.024 0.2")
"""A bar whose posts nobody modelled."""
WIDE = box("0.06 0.42 0", "0.015 0.070001 0.2") + box("0.04 0.42 0.07", "0.04 0.01 0.01")
"""As wide as a hand opens, and a thousandth of a millimetre that rounding adds."""
RAIL = box("0.06 0.4 0.05", "0.015 0.14 0.015") + box("0.04 0.44 0.05", "0.04 0.01 0.01")
FLAP = box("0.01 0 0.19", "0.02 0.48 0.38")
"""In its link: hinged at z = 0, reaching up to z = 0.38."""
FLAP_BAR = box("0.06 0 0.34", "0.015 0.2 0.015") + box("0.04 0.08 0.34", "0.04 0.01 0.01")
FRONT = (
    box("0.01 0 0", "0.02 0.46 0.18")
    + box("-0.15 0 -0.07", "0.3 0.4 0.01")
    + box("-0.15 0.2 0", "0.3 0.01 0.14")
    + box("-0.15 -0.2 0", "0.3 0.01 0.14")
)
STUD = cylinder("0.03 0 0", 0.006, 0.03, "0 1.5708 0") + cylinder("0.05 0 0", 0.016, 0.02, "0 1.5708 0")

WINDOW = (
    box("0 -0.265 0.23", "0.09 0.03 0.46")
    + box("0 0.265 0.23", "0.09 0.03 0.46")
    + box("0 0 0.015", "0.09 0.5 0.03")
    + box("0 0 0.445", "0.09 0.5 0.03")
)
"""The frame of a window, 0.56 wide and 0.46 high."""
SASH = (
    box("0 -0.115 0", "0.03 0.035 0.395")
    + box("0 0.115 0", "0.03 0.035 0.395")
    + box("0 0 -0.18", "0.03 0.195 0.035")
    + box("0 0 0.18", "0.03 0.195 0.035")
    + box("0 0 0", "0.005 0.195 0.325")
)
PULL = (
    box("0.02 0.11 0.06", "0.03 0.012 0.012")
    + box("0.02 0.11 -0.06", "0.03 0.012 0.012")
    + box("0.04 0.11 0", "0.012 0.012 0.14")
)
SLIDE = [joint("j", "prismatic", "b", "0.018 0.115 0.23", "0 1 0", -0.215, 0.0)]

HOLED_FRONT = (
    box("0.2 0.129 0.2", "0.02 0.242 0.4")
    + box("0.2 -0.129 0.2", "0.02 0.242 0.4")
    + box("0.2 0 0.306", "0.02 0.016 0.188")
    + box("0.2 0 0.094", "0.02 0.016 0.188")
)
"""The front of a cabinet with a hole, 16 mm wide and 24 mm high, for a switch."""

RACK = box("-0.18 0 0", "0.38 0.06 0.34")
"""A narrow drawer, in its link: its front at x = 0.01, thinner than it is deep and high."""

SPOUT = box("0 0 0.01", "0.24 0.3 0.02") + box("-0.06 0 0.15", "0.03 0.03 0.26") + cylinder("0.06 0.1 0.05", 0.01, 0.06)
"""A basin with the stem of a knob at x = 0.06, y = 0.1, and a spout that is much higher."""

OBJECTS = {
    "knob_low": (
        SPOUT,
        {"b": cylinder("0 0 0.012", 0.022, 0.024)},
        [joint("j", "revolute", "b", "0.06 0.1 0.08", "0 0 1", 0.0, 3.0)],
    ),
    "rack": (CASE, {"b": RACK}, [joint("j", "prismatic", "b", "0.2 0 0.2", "1 0 0", 0.0, 0.3)]),
    "sash": (WINDOW, {"b": SASH}, SLIDE),
    "sash_pull": (WINDOW, {"b": SASH + PULL}, SLIDE),
    "door": (CASE, {"b": DOOR}, [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)]),
    "door_bar": (CASE, {"b": DOOR + BAR}, [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)]),
    "door_floating": (
        CASE,
        {"b": DOOR + FLOATING},
        [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)],
    ),
    "door_wide": (CASE, {"b": DOOR + WIDE}, [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)]),
    "door_rail": (CASE, {"b": DOOR + RAIL}, [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6)]),
    "door_back": (CASE, {"b": DOOR + BAR}, [joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 1", -1.6, 0.0)]),
    "flap": (CASE, {"b": FLAP}, [joint("j", "revolute", "b", "0.2 0 0.01", "0 1 0", 0.0, 1.5)]),
    "flap_bar": (CASE, {"b": FLAP + FLAP_BAR}, [joint("j", "revolute", "b", "0.2 0 0.01", "0 1 0", 0.0, 1.5)]),
    "drawer": (CASE, {"b": FRONT}, [joint("j", "prismatic", "b", "0.2 0 0.2", "1 0 0", 0.0, 0.25)]),
    "drawer_back": (CASE, {"b": FRONT}, [joint("j", "prismatic", "b", "0.2 0 0.2", "-1 0 0", -0.25, 0.0)]),
    "drawer_knob": (CASE, {"b": FRONT + STUD}, [joint("j", "prismatic", "b", "0.2 0 0.2", "1 0 0", 0.0, 0.25)]),
    "lid": (
        TUB,
        {"b": box("0.15 0 0.01", "0.3 0.4 0.02")},
        [joint("j", "revolute", "b", "-0.15 0 0.2", "0 -1 0", 0.0, 2.0)],
    ),
    "swing_lid": (
        TUB,
        {"b": named(box("0 0 0", "0.25 0.35 0.01"), "lid")},
        [joint("j", "revolute", "b", "0 0 0.195", "0 1 0", -1.2, 1.2)],
    ),
    "swing_lid_handle": (
        TUB,
        {"b": named(box("0 0 0", "0.25 0.35 0.01"), "lid") + named(box("-0.09 0 0.02", "0.02 0.1 0.03"), "handle")},
        [joint("j", "revolute", "b", "0 0 0.195", "0 1 0", -1.2, 1.2)],
    ),
    "swing_door": (
        WINDOW,
        {"b": named(box("0 0 0", "0.02 0.49 0.395"), "door")},
        [joint("j", "revolute", "b", "0.03 0 0.23", "0 0 1", -1.2, 1.2)],
    ),
    "carton": (
        TUB,
        {"b": box("0 0.1 0.003", "0.3 0.2 0.006"), "c": box("0 -0.1 0.003", "0.3 0.2 0.006")},
        [
            joint("j", "revolute", "b", "0 -0.2 0.2", "1 0 0", 0.0, 2.5),
            joint("k", "revolute", "c", "0 0.2 0.2", "1 0 0", -2.5, 0.0),
        ],
    ),
    "knob": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": cylinder("0.015 0 0", 0.02, 0.03, "0 1.5708 0")},
        [joint("j", "continuous", "b", "0.21 0 0.2", "1 0 0", 0.0, 0.0)],
    ),
    "lever": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": cylinder("0.02 0 0", 0.01, 0.04, "0 1.5708 0") + box("0.045 0.06 0", "0.015 0.14 0.02")},
        [joint("j", "revolute", "b", "0.21 0 0.2", "1 0 0", -1.0, 1.0)],
    ),
    "oven": (
        CASE,
        {"c": cylinder("0.01 0 0", 0.02, 0.03, "0 1.5708 0"), "b": FLAP},
        [
            joint("k", "continuous", "c", "0.2 0 0.395", "1 0 0", 0.0, 0.0),
            joint("j", "revolute", "b", "0.2 0 0.01", "0 1 0", 0.0, 1.5),
        ],
    ),
    "inside": (
        CASE + box("0.21 0 0.39", "0.02 0.5 0.02"),
        {"b": FRONT},
        [joint("j", "prismatic", "b", "0.2 0 0.2", "1 0 0", -0.1, 0.25)],
    ),
    "press": (
        box("0 0 0.1", "0.2 0.3 0.2"),
        {"b": box("0.02 0 0", "0.04 0.03 0.015")},
        [joint("j", "prismatic", "b", "0.1 0 0.05", "0 0 1", 0.0, 0.1)],
    ),
    "button": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": cylinder("0 0 0", 0.012, 0.012, "0 1.5708 0")},
        [joint("j", "prismatic", "b", "0.21 0.1 0.3", "-1 0 0", 0.0, 0.003)],
    ),
    "switch": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": box("0.004 0 0", "0.008 0.02 0.04")},
        [joint("j", "revolute", "b", "0.212 0 0.2", "0 1 0", -0.07, 0.07)],
    ),
    "rocker": (
        CASE + HOLED_FRONT,
        {"b": box("-0.008 0 0", "0.03 0.014 0.02")},
        [joint("j", "revolute", "b", "0.206 0 0.2", "0 1 0", -0.07, 0.07)],
    ),
    "thick_rocker": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": box("0.008 0 0", "0.016 0.02 0.03")},
        [joint("j", "revolute", "b", "0.212 0 0.2", "0 1 0", -0.07, 0.07)],
    ),
    "toggle": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": box("0.012 0 0", "0.024 0.006 0.006")},
        [joint("j", "revolute", "b", "0.212 0 0.2", "0 1 0", -0.07, 0.07)],
    ),
    "small_wing": (
        CASE + box("0.2 0 0.2", "0.02 0.5 0.4"),
        {"b": box("0.01 0 0", "0.02 0.06 0.02")},
        [joint("j", "revolute", "b", "0.21 0.02 0.3", "1 0 0", -0.07, 0.07)],
    ),
    "panel": (
        CASE,
        {"c": cylinder("0 0 0", 0.012, 0.012, "0 1.5708 0"), "b": DOOR + BAR},
        [
            joint("k", "prismatic", "c", "0.2 0.247 0.3", "1 0 0", -0.004, 0.0),
            joint("j", "revolute", "b", "0.2 -0.245 0.2", "0 0 -1", 0.0, 1.6),
        ],
    ),
    "lifted": (
        CASE,
        {"b": box("0 0 0.005", "0.4 0.5 0.01") + cylinder("0 0 0.03", 0.012, 0.04)},
        [joint("j", "prismatic", "b", "0 0 0.4", "0 0 1", 0.0, 0.024)],
    ),
}
"""Body, moving links and joints by name."""


@pytest.fixture
def write(tmp_path):
    """Writes one of the objects, turned about z if wanted, and returns its URDF."""

    def written(name, *, yaw=0.0, folder="", file="thing.urdf"):
        body, links, joints = OBJECTS[name]
        text = '<?xml version="1.0"?>\n<robot name="thing">\n<link name="root"/>\n'
        text += f'<link name="a">{body}</link>\n'
        text += "\n".join(f'<link name="{link}">{shapes}</link>' for link, shapes in links.items())
        text += f'\n<joint name="stand" type="fixed"><origin rpy="0 0 {yaw}"/>'
        text += '<parent link="root"/><child link="a"/></joint>\n'
        target = tmp_path / (folder or name) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n".join(joints) + "\n</robot>\n")
        return target

    return written
