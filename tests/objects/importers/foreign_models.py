"""Models in the manner of those that Gazebo, robosuite, RoboCasa and others publish."""

from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

_SIDES = (("0 0.29 0.3", "0.5 0.02 0.6"), ("0 -0.29 0.3", "0.5 0.02 0.6"), ("-0.24 0 0.3", "0.02 0.6 0.6"))
_SIDES += (("0 0 0.01", "0.5 0.6 0.02"), ("0 0 0.59", "0.5 0.6 0.02"))


def _sdf_box(name: str, at: str, size: str, rpy: str = "0 0 0") -> str:
    return "".join(
        f'<{tag} name="{name}_{tag}"><pose>{at} {rpy}</pose><geometry><box><size>{size}</size></box></geometry></{tag}>'
        for tag in ("visual", "collision")
    )


_CASE = "".join(_sdf_box(f"s{n}", at, size) for n, (at, size) in enumerate(_SIDES))
_INERTIAL = (
    "<inertial><pose>0 0 0.1 0 0 0</pose><mass>2</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia>"
    "</inertial>"
)
_LIMIT = "<limit><lower>{}</lower><upper>{}</upper><effort>50</effort><velocity>2</velocity></limit>"

SDF = {
    # a cabinet with a drawer: poses of links and joints in the model, the base joined to the world
    "cabinet_with_drawer": f"""<?xml version="1.0"?><sdf version="1.6"><model name="cabinet"><pose>1 2 0 0 0 0.5</pose>
<link name="case">{_CASE}</link>
<link name="drawer"><pose>0 0 0.45 0 0 0</pose>{_INERTIAL}{_sdf_box("front", "0.26 0 0", "0.02 0.56 0.2")}
{_sdf_box("floor", "0.05 0 -0.08", "0.4 0.5 0.01")}{_sdf_box("bar", "0.3 0 0", "0.012 0.15 0.012")}
{_sdf_box("post", "0.285 0.07 0", "0.03 0.01 0.01")}{_sdf_box("post2", "0.285 -0.07 0", "0.03 0.01 0.01")}</link>
<joint name="fixed_to_world" type="fixed"><parent>world</parent><child>case</child></joint>
<joint name="drawer_joint" type="prismatic"><parent>case</parent><child>drawer</child><axis><xyz>1 0 0</xyz>
{_LIMIT.format(0, 0.35)}<dynamics><damping>3</damping><friction>1.5</friction></dynamics></axis></joint>
</model></sdf>""",
    # a hinged door in a frame with a lever, in a world with a ground and a light; the axis is in the axes of the model
    "hinged_door": f"""<sdf version="1.5"><world name="default"><include><uri>model://sun</uri></include>
<model name="hinged_door"><link name="frame">{_sdf_box("l", "0 0.42 0.5", "0.06 0.04 1.0")}
{_sdf_box("r", "0 -0.42 0.5", "0.06 0.04 1.0")}{_sdf_box("t", "0 0 1.02", "0.06 0.88 0.04")}</link>
<link name="door"><pose>0 0 0.5 0 0 1.5707963</pose>{_sdf_box("panel", "0 0 0", "0.79 0.03 0.98")}</link>
<link name="lever"><pose>0.06 0.3 0.5 0 0 0</pose>
{_sdf_box("arm", "0 -0.05 0", "0.015 0.12 0.02")}{_sdf_box("stem", "-0.02 0 0", "0.05 0.02 0.02")}</link>
<joint name="hinge" type="revolute"><pose>-0.4 0 0 0 0 0</pose><parent>frame</parent><child>door</child>
<axis><xyz>0 0 1</xyz><use_parent_model_frame>1</use_parent_model_frame>{_LIMIT.format(0, 1.8)}</axis></joint>
<joint name="handle" type="revolute"><parent>door</parent><child>lever</child>
<axis><xyz>1 0 0</xyz>{_LIMIT.format(0, 0.7)}</axis></joint></model></world></sdf>""",
    # a microwave of format 1.9: frames, poses in degrees and relative to others, a mimic
    "microwave": f"""<sdf version="1.9"><model name="microwave" canonical_link="body">
<frame name="hinge_frame" attached_to="body"><pose relative_to="body">0.25 0.29 0 0 0 0</pose></frame>
<link name="body"><pose degrees="true">0 0 0 0 0 90</pose>{_CASE}</link>
<link name="door">
<pose relative_to="hinge_frame">0 0 0.3 0 0 0</pose>{_sdf_box("pane", "0.01 -0.29 0", "0.02 0.58 0.58")}
{_sdf_box("grip", "0.06 -0.52 0", "0.012 0.012 0.2")}{_sdf_box("p1", "0.04 -0.52 0.09", "0.04 0.01 0.01")}
{_sdf_box("p2", "0.04 -0.52 -0.09", "0.04 0.01 0.01")}</link>
<joint name="door_hinge" type="revolute"><pose relative_to="hinge_frame">0 0 0 0 0 0</pose><parent>body</parent>
<child>door</child><axis><xyz expressed_in="hinge_frame">0 0 1</xyz>{_LIMIT.format(0, 1.9)}</axis></joint></model>
</sdf>""",
    # a drawer unit whose meshes are addressed by the name of its model, in an included model, with a capsule as its bar
    "meshes": f"""<sdf version="1.7"><model name="unit"><include><uri>model://box_part</uri><name>case</name></include>
<link name="tray"><visual name="v"><geometry><mesh><uri>model://unit/meshes/tray%20a.obj</uri>
<scale>0.001 0.001 0.001</scale>
</mesh></geometry></visual><collision name="c"><geometry><mesh><uri>model://unit/meshes/tray%20a.obj</uri>
<scale>0.001 0.001 0.001</scale></mesh></geometry></collision>
<visual name="bar"><pose>0.3 0 0.3 1.5707963 0 0</pose><geometry><capsule><radius>0.008</radius><length>0.12</length>
</capsule>
</geometry></visual></link><joint name="slide" type="prismatic"><parent>case::base</parent><child>tray</child>
<axis><xyz>1 0 0</xyz>{_LIMIT.format(0, 0.3)}</axis></joint></model></sdf>""",
    # a chest, written from its back: the model is turned, the lid swings below its zero, with a stop that gives
    "chest": f"""<sdf version="1.6"><model name="chest"><link name="box"><pose>0 0 0 0 0 3.1415926</pose>{_CASE}</link>
<link name="cover"><pose>0.25 0 0.6 0 0 3.1415926</pose>{_sdf_box("plate", "0.25 0 0.015", "0.5 0.6 0.03")}
{_sdf_box("lip", "0.515 0 0.0", "0.03 0.12 0.02")}</link><joint name="lid" type="revolute"><parent>box</parent>
<child>cover</child><axis><xyz>0 1 0</xyz>{_LIMIT.format(-1.4, 0)}<dynamics><spring_stiffness>0</spring_stiffness>
<damping>0.5</damping></dynamics></axis></joint></model></sdf>""",
}
PART = f'<sdf version="1.7"><model name="box_part"><link name="base">{_CASE}</link></model></sdf>'

_MJ_CASE = "".join(
    f'<geom type="box" pos="{at}" size="{" ".join(str(float(v) / 2) for v in size.split())}"/>' for at, size in _SIDES
)
MJCF = {
    # robosuite's door: a free-standing frame, damping and friction, a latch, colliders apart from what is seen
    "door": """<mujoco model="door"><compiler angle="radian"/><default><default class="seen">
<geom contype="0" conaffinity="0" group="1"/></default></default><worldbody><body name="object"><body name="Door">
<inertial pos="0 0 0.3" mass="5" diaginertia="0.1 0.1 0.1"/><body name="frame">
<geom class="seen" type="box" pos="0 0.03 0.3" size="0.03 0.03 0.3"/>
<geom type="box" pos="0 0.03 0.3" size="0.03 0.03 0.3"/>
<geom type="box" pos="0 -0.53 0.3" size="0.03 0.03 0.3"/><body name="door" pos="0 0 0.3">
<inertial pos="0 -0.25 0" mass="2.4" diaginertia="0.05 0.05 0.01"/>
<joint name="door_hinge" type="hinge" axis="0 0 1" pos="0 0 0" range="0 0.9"
 damping="1" frictionloss="0.3" limited="true"/>
<geom class="seen" name="panel_seen" type="box" pos="0 -0.25 0" size="0.02 0.245 0.29" rgba="0.5 0.3 0.1 1"/>
<geom name="panel" type="box" pos="0 -0.25 0" size="0.02 0.245 0.29"/>
<body name="latch" pos="0.05 -0.43 0"><joint name="latch_joint" axis="1 0 0" range="0 1.57"/>
<geom type="capsule" fromto="0 0 0 0.02 0 0" size="0.012"/>
<geom type="box" pos="0.03 0.06 0" size="0.008 0.07 0.012"/></body>
</body></body></body></body></worldbody></mujoco>""",
    # RoboCasa's microwave: classes, degrees, a range below 0, colliders in another group
    "microwave": f"""<mujoco model="microwave"><compiler angle="degree" autolimits="true"/><default>
<default class="collision">
<geom group="0" rgba="0.5 0 0 0.5"/></default></default><worldbody><body><body name="object">{_MJ_CASE}
<body name="door" pos="0.25 0.29 0.3"><joint name="microjoint" axis="0 0 -1" range="-110 0" damping="1"/>
<geom class="collision" name="pane" type="box" pos="0.01 -0.29 0" size="0.01 0.29 0.29"/>
<geom name="grip" type="capsule" fromto="0.07 -0.52 -0.1 0.07 -0.52 0.1" size="0.009"/>
<geom type="box" pos="0.04 -0.52 0.09" size="0.02 0.005 0.005"/>
<geom type="box" pos="0.04 -0.52 -0.09" size="0.02 0.005 0.005"/>
</body></body><site name="bottom"/></body></worldbody></mujoco>""",
    # the sliding drawer of a kitchen whose case is geoms of the world, with a floor, an actuator and a drawn position
    "kitchen_drawer": f"""<mujoco model="kitchen"><worldbody><geom name="floor" type="plane" size="2 2 0.1"/>{_MJ_CASE}
<body name="drawer" pos="0 0 0.45"><joint name="drawer_slide" type="slide" axis="1 0 0" range="0.1 0.45" ref="0.1"/>
<geom type="box" pos="0.26 0 0" size="0.01 0.28 0.1"/><geom type="box" pos="0.05 0 -0.08" size="0.2 0.25 0.005"/>
<geom name="bar" type="cylinder" pos="0.3 0 0" euler="90 0 0" size="0.007 0.08"/>
<geom type="box" pos="0.28 0.07 0" size="0.02 0.005 0.005"/>
<geom type="box" pos="0.28 -0.07 0" size="0.02 0.005 0.005"/></body>
</worldbody><actuator><motor joint="drawer_slide"/></actuator></mujoco>""",
    # two doors that an equality couples, made of a mesh with a picture
    "textured_doors": f"""<mujoco model="doors"><compiler meshdir="assets" texturedir="assets"/><asset>
<mesh name="panel" file="panel.obj" scale="0.001 0.001 0.001"/><texture name="wood" type="2d" file="wood.png"/>
<material name="wood" texture="wood"/></asset><worldbody><body name="case">{_MJ_CASE}
<body name="left" pos="0.25 0.29 0.3"><joint name="left" axis="0 0 1" range="0 100"/>
<geom type="mesh" mesh="panel" material="wood"/></body>
<body name="right" pos="0.25 -0.29 0.3" euler="180 0 0"><joint name="right" axis="0 0 1" range="0 100"/>
<geom type="mesh" mesh="panel" material="wood"/></body></body></worldbody>
<equality><joint joint1="right" joint2="left"/></equality></mujoco>""",
    # robosuite's door as it is published: no unit of angles, as in a part of a larger model, and a geom called handle
    "bare_door": """<mujoco model="door"><worldbody><body><body name="object"><body name="frame">
<geom type="box" pos="0 0.03 0.3" size="0.03 0.03 0.3"/><geom type="box" pos="0 -0.53 0.3" size="0.03 0.03 0.3"/>
<body name="door_link" pos="0 0 0.3"><joint name="hinge" axis="0 0 1" range="0 0.4" damping="1"/>
<geom name="panel" type="box" pos="0 -0.25 0" size="0.02 0.245 0.29"/>
<geom name="handle" type="box" pos="0.05 -0.43 0.05" size="0.012 0.012 0.08"/>
<geom type="box" pos="0.03 -0.43 0" size="0.02 0.01 0.01"/></body></body></body></body></worldbody></mujoco>""",
    # Franka Kitchen's sliding cabinet: a panel with a heavy handle in front of an open case, as wide as half of it
    "sliding_cabinet": """<mujoco model="slide"><compiler angle="radian"/><worldbody><body name="case">
<geom type="box" pos="0 0.29 0.2" size="0.448 0.01 0.2"/><geom type="box" pos="-0.44 0 0.2" size="0.01 0.3 0.2"/>
<geom type="box" pos="0.44 0 0.2" size="0.01 0.3 0.2"/><geom type="box" pos="0 0 0.01" size="0.45 0.3 0.01"/>
<geom type="box" pos="0 0 0.39" size="0.45 0.3 0.01"/>
<body name="slidelink" pos="0 -0.3 0.2"><joint name="slide" type="slide" axis="1 0 0" range="0 0.44"/>
<geom type="box" pos="-0.225 -0.02 0" size="0.225 0.02 0.19"/>
<geom type="capsule" fromto="-0.4 -0.13 -0.14 -0.4 -0.13 0.14" size="0.02"/>
<geom type="capsule" fromto="-0.4 -0.04 -0.13 -0.4 -0.12 -0.13" size="0.02"/>
<geom type="capsule" fromto="-0.4 -0.04 0.13 -0.4 -0.12 0.13" size="0.02"/></body></body></worldbody></mujoco>""",
    # RoboCasa's dishwasher: a flap hinged below, geoms of a replicated default, a site and a camera
    "dishwasher": f"""<mujoco model="dishwasher"><compiler autolimits="true" eulerseq="xyz"/><default>
<default class="region"><geom rgba="0.4 0.4 0.4 1" group="1"/></default></default><worldbody><body name="object">
{_MJ_CASE}<site name="ext_p0" pos="0 0 0"/><camera name="view" pos="1 0 1"/>
<body name="flap" pos="0.25 0 0.02"><joint name="door_joint" axis="0 1 0" range="0 90" armature="0.01" stiffness="0"/>
<geom class="region" type="box" pos="0.01 0 0.28" size="0.01 0.29 0.28"/>
<geom type="capsule" fromto="0.05 -0.15 0.5 0.05 0.15 0.5" size="0.008"/>
<geom type="box" pos="0.035 0.14 0.5" size="0.02 0.006 0.006"/>
<geom type="box" pos="0.035 -0.14 0.5" size="0.02 0.006 0.006"/></body></body></worldbody></mujoco>""",
}
_ARM = "".join(
    f'<body name="link{n}" pos="0 0 0.3"><joint name="arm{n}" axis="0 1 0" range="-2 2"/>'
    '<geom type="capsule" size="0.04 0.12"/>'
    for n in range(1, 5)
)
SCENE = f"""<mujoco model="scene"><compiler angle="radian"/><worldbody><geom type="plane" size="2 2 0.1"/>
<body name="base">{_ARM}{"</body>" * 5}<body name="desk" pos="1 0 0.7"><geom type="box" size="0.5 1 0.01"/>
<body name="unit" pos="0.2 0.5 0.01" euler="0 0 0.3"><body>{_MJ_CASE}<body name="drawer" pos="0 0 0.45">
<joint name="slide" type="slide" axis="1 0 0" range="0 0.35"/><geom type="box" pos="0.26 0 0" size="0.01 0.28 0.1"/>
<geom type="box" pos="0.05 0 -0.08" size="0.2 0.25 0.005"/><geom type="box" pos="0.29 0 0" size="0.02 0.06 0.01"/>
</body></body></body><body name="dial" pos="-0.3 0 0.03"><geom type="cylinder" size="0.05 0.02"/>
<body name="cap" pos="0 0 0.03"><joint name="turn" axis="0 0 1" range="0 1.5"/><geom type="box" size="0.03 0.01 0.02"/>
</body></body></body><body name="kettle" pos="0 0 2"><freejoint/><geom type="sphere" size="0.05"/></body></worldbody>
</mujoco>"""
"""An arm, a desk with a turned drawer unit and a dial on it, and a kettle."""


def write_sdf(folder: Path, name: str) -> Path:
    """Writes a model with its meshes, and the models that it includes beside it."""
    home = folder / ("unit" if name == "meshes" else name)
    (home / "meshes").mkdir(parents=True)
    tray = trimesh.util.concatenate(
        [
            trimesh.creation.box((20, 560, 180), trimesh.transformations.translation_matrix((260, 0, 300))),
            trimesh.creation.box((400, 500, 10), trimesh.transformations.translation_matrix((50, 0, 215))),
        ]
    )
    tray.export(home / "meshes" / "tray a.obj")
    (folder / "box_part").mkdir(exist_ok=True)
    (folder / "box_part" / "model.sdf").write_text(PART)
    path = home / "model.sdf"
    path.write_text(SDF[name])
    return path


def write_mjcf(folder: Path, name: str) -> Path:
    """Writes a model with its meshes and pictures."""
    (folder / "assets").mkdir(parents=True)
    corners = [(x, y, z) for x in (0, 20) for y in (-285, 0) for z in (-280, 280)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"]
    faces = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
    lines += [f"f {a}/1 {b}/2 {c}/3 {d}/4" for a, b, c, d in faces]
    (folder / "assets" / "panel.obj").write_text("\n".join(lines) + "\n")
    picture = np.zeros((8, 8, 3), dtype=np.uint8)
    picture[:4] = (200, 100, 50)
    Image.fromarray(picture).save(folder / "assets" / "wood.png")
    path = folder / f"{name}.xml"
    path.write_text(SCENE if name == "scene" else MJCF[name])
    return path
