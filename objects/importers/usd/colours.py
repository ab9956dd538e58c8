"""Reads the materials of a USD: the colour of each surface, and the picture that covers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.importers.usd.stage import OpenedStage
from unlatch.objects.importers.usd.surfaces import PrimSurface, read_primvar
from unlatch.simcore.meshes.textured_surface import srgb_light
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Colour = tuple[float, float, float, float]

_COLOUR_INPUTS = ("diffuseColor", "diffuse_color_constant", "diffuse_reflection_color", "base_color", "baseColor")
"""Inputs of UsdPreviewSurface and of the materials of Isaac Sim that hold a colour in linear light."""
_OPACITY_INPUTS = ("opacity", "opacity_constant")
_PICTURE_INPUTS = ("diffuse_texture",)
_CONTEXTS = ("", "mdl")
"""Renderers whose surface is read: any, and that of Isaac Sim."""


@dataclass(frozen=True)
class Look:
    """Colour and picture of a surface."""

    rgba: Colour | None = None
    """sRGB, as in a URDF."""
    picture: str | None = None
    """Resolved path of a picture; it may lie in a package: `PACKAGE.usdz[FILE]`."""


@dataclass(frozen=True)
class LookedSurface:
    """Triangles of one prim that share a material, in the prim's own coordinates."""

    mesh: TriangleMesh
    look: Look
    uvs: np.ndarray | None = None
    """(F, 3, 2) texture coordinates at the corners; None without a picture."""


def surfaces_by_look(stage: OpenedStage, prim: Any, surface: PrimSurface) -> Iterator[LookedSurface]:
    """Yields the parts of a surface that share a material: those of its subsets, then the rest."""
    own = _read_look(stage, prim)
    if surface.polygons is None:
        yield LookedSurface(surface.mesh, Look(own.rgba))
        return
    uvs = _corner_uvs(stage, prim, surface)
    left: np.ndarray = np.ones(len(surface.polygons), dtype=bool)
    for subset in stage.pxr.UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
        indices = subset.GetIndicesAttr().Get(stage.time)
        chosen = left & np.isin(surface.polygons, np.array(indices if indices is not None else [], dtype=int))
        if chosen.any():
            yield _cut(surface.mesh, chosen, _read_look(stage, subset.GetPrim()), uvs)
            left &= ~chosen
    if left.any():
        yield _cut(surface.mesh, left, own, uvs)


def _cut(mesh: TriangleMesh, chosen: np.ndarray, look: Look, uvs: np.ndarray | None) -> LookedSurface:
    if look.picture is None or uvs is None:
        return LookedSurface(TriangleMesh(mesh.vertices, mesh.faces[chosen]), Look(look.rgba))
    return LookedSurface(TriangleMesh(mesh.vertices, mesh.faces[chosen]), look, uvs[chosen])


def _corner_uvs(stage: OpenedStage, prim: Any, surface: PrimSurface) -> np.ndarray | None:
    """Returns (F, 3, 2) texture coordinates of the corners; None without usable ones."""
    found = read_primvar(stage, prim, "st") or read_primvar(stage, prim, "UVMap")
    if found is None or surface.corners is None or found[0].ndim != 2 or found[0].shape[1] < 2:
        return None
    values, interpolation = found
    at = {"faceVarying": surface.corners, "vertex": surface.mesh.faces, "varying": surface.mesh.faces}
    places = at.get(interpolation)
    if places is None or (places.size and places.max() >= len(values)):
        return None
    return np.asarray(values[:, :2][places])


def _read_look(stage: OpenedStage, prim: Any) -> Look:
    """Returns the look of the material that is bound to a prim, else that of its `displayColor`."""
    material, _ = stage.pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    for context in _CONTEXTS if material else ():
        source = material.ComputeSurfaceSource(context)
        shader = source[0] if source else None
        if shader:
            look = _read_shader(stage, shader)
            if look is not None:
                return look
    shown = read_primvar(stage, prim, "displayColor")
    if shown is None or shown[0].ndim != 2:
        return Look()
    opacity = read_primvar(stage, prim, "displayOpacity")
    return Look(_to_rgba(shown[0].mean(axis=0), 1.0 if opacity is None else float(opacity[0].mean())))


def _read_shader(stage: OpenedStage, shader: Any) -> Look | None:
    """Returns the look of a surface shader; None if it has no input that is known."""
    inputs = {str(item.GetBaseName()): item for item in shader.GetInputs()}
    opacity = next(
        (v for name in _OPACITY_INPUTS if isinstance(v := _read_input(stage, inputs.get(name))[0], float)), 1.0
    )
    for name in _COLOUR_INPUTS:
        value, owner = _read_input(stage, inputs.get(name))
        if owner is not None and owner.GetShaderId() == "UsdUVTexture":
            scale, _ = _read_input(stage, owner.GetInput("scale"))
            tint = np.ones(3) if scale is None else np.array(scale, dtype=float)[:3]
            return Look(_to_rgba(tint, opacity), _picture(stage, owner.GetInput("file")))
        if value is not None and np.size(value) >= 3:
            picture = next((p for key in _PICTURE_INPUTS if (p := _picture(stage, inputs.get(key)))), None)
            return Look(_to_rgba(np.array(value, dtype=float)[:3], opacity), picture)
    picture = next((p for key in _PICTURE_INPUTS if (p := _picture(stage, inputs.get(key)))), None)
    return None if picture is None else Look(_to_rgba(np.ones(3), opacity), picture)


def _read_input(stage: OpenedStage, item: Any) -> tuple[Any, Any]:
    """Returns the value of a shader's input, and the shader of a texture that gives it."""
    if not item:
        return None, None
    for attribute in item.GetValueProducingAttributes():
        prim = attribute.GetPrim()
        if prim.GetTypeName() == "Shader" and str(attribute.GetName()).startswith("outputs:"):
            return None, stage.pxr.UsdShade.Shader(prim)
        value = attribute.Get()
        return (float(value) if isinstance(value, int | float) else value), None
    return None, None


def _picture(stage: OpenedStage, item: Any) -> str | None:
    value, _ = _read_input(stage, item)
    path = getattr(value, "resolvedPath", "") if value is not None else ""
    return str(path) or None


def _to_rgba(linear: np.ndarray, opacity: float) -> Colour | None:
    if linear.shape != (3,) or not np.all(np.isfinite(linear)):
        return None
    red, green, blue = (round(srgb_light(float(np.clip(v, 0.0, 1.0))), 6) for v in linear)
    return red, green, blue, round(float(np.clip(opacity, 0.0, 1.0)), 6)
