"""Cabinets as mesh files: a body with a door, which has a handle."""

import json
import struct

import numpy as np
import trimesh
from PIL import Image

SIZE_M = (0.3, 0.4, 0.4)
"""Depth, width and height: x, y and z after the file is turned to z up; the door is at -x."""
BOARD_M = 0.02


def cabinet_boxes():
    """Returns size and centre of the boards of a cabinet, x to the back, y to the left, z up [m]."""
    depth, width, height = SIZE_M
    return {
        "back": ((BOARD_M, width, height), (depth / 2, 0.0, 0.0)),
        "left": ((depth, BOARD_M, height), (0.0, width / 2, 0.0)),
        "right": ((depth, BOARD_M, height), (0.0, -width / 2, 0.0)),
        "top": ((depth, width, BOARD_M), (0.0, 0.0, height / 2)),
        "bottom": ((depth, width, BOARD_M), (0.0, 0.0, -height / 2)),
        "door": ((BOARD_M, width, height), (-depth / 2 - BOARD_M, 0.0, 0.0)),
        "handle": ((0.02, 0.02, 0.12), (-depth / 2 - 0.05, 0.16, 0.0)),
        "stem": ((0.03, 0.02, 0.02), (-depth / 2 - 0.035, 0.16, 0.0)),
    }


def cabinet_scene(*, y_up=True, textured=False):
    """Returns the cabinet as a scene; `handle` and `stem` hang below `door`, everything below `body`."""
    scene = trimesh.Scene()
    turn = np.eye(4)
    if y_up:
        turn[:3, :3] = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # z up to y up
    scene.graph.update(frame_to="body", frame_from="world", matrix=turn)
    for name, (size, centre) in cabinet_boxes().items():
        mesh = trimesh.creation.box(size)
        mesh.apply_translation(centre)
        if textured and name == "door":
            picture = Image.fromarray(np.full((4, 4, 3), (200, 40, 40), dtype=np.uint8))
            material = trimesh.visual.material.PBRMaterial(baseColorTexture=picture)
            mesh.visual = trimesh.visual.TextureVisuals(uv=mesh.vertices[:, 1:] / 0.4 + 0.5, material=material)
        parent = "door" if name in ("handle", "stem") else "body"
        scene.add_geometry(mesh, node_name=name, geom_name=f"{name}_mesh", parent_node_name=parent)
    return scene


def write_glb(path, scene, edit=None):
    """Writes a scene as GLB; `edit` may change its JSON."""
    data = scene.export(file_type="glb")
    length = struct.unpack("<I", data[12:16])[0]
    content, rest = json.loads(data[20 : 20 + length]), data[20 + length :]
    if edit is not None:
        edit(content)
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    head = b"glTF" + struct.pack("<II", 2, 20 + len(text) + len(rest)) + struct.pack("<I4s", len(text), b"JSON")
    path.write_bytes(head + text + rest)
    return path
