"""Opens a USD file with all that it refers to, places its prims in metres with z up, and reads their surfaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from os.path import commonpath
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.converted_asset import primitive_mesh
from unlatch.objects.importers.urdf_parts import AssetFile
from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import srgb_light
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, fan_triangles
from unlatch.simcore.process import hide_native_output
from unlatch.simcore.urdf.model import Shape, ShapeKind
from unlatch.simcore.urdf.reader import is_shared_folder

_MODULES = ("Ar", "Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils", "Vt")


def import_openusd(needed_by: str = "USD output") -> Any:
    """Imports OpenUSD and returns it; its modules are attributes, such as `pxr.UsdGeom`.

    `needed_by` says in the error what needs it.

    Raises:
        AssetError: It is not installed; the message names the extra.
    """
    pxr = import_extra("pxr", extra="usd", needed_by=needed_by, error=AssetError)
    for name in _MODULES:
        import_module(f"pxr.{name}")
    return pxr


USD_SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")
"""Endings of USD files, in lower case."""

MAX_USD_BYTES = 256_000_000
"""Largest size of one file of a USD asset."""

_MOST_PRIMS = 200_000
_MOST_NAMED = 3
_Z_UP = np.eye(3)
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""(3, 3) rotation from axes with y up to axes with z up."""
_SCALES_M = (1e-6, 1e6)


def is_usd(path: Path | str) -> bool:
    """Returns whether the name of a file ends like that of a USD."""
    return Path(path).suffix.lower() in USD_SUFFIXES


def usd_files(path: Path) -> dict[str, Path]:
    """Returns every file that a USD consists of, by a name relative to their common folder: layers and pictures.

    Files that are missing are left out; `OpenedStage` reports those that matter.

    Raises:
        AssetError: OpenUSD is not installed, the file cannot be read, a file is too large, or the files have no common
            folder of their own.
    """
    pxr = import_openusd("A USD object")
    try:
        with hide_native_output():
            layers, assets, _ = pxr.UsdUtils.ComputeAllDependencies(str(path))
    except pxr.Tf.ErrorException as exc:
        raise unreadable(path, exc) from exc
    # a file inside a package has the name `PACKAGE.usdz[FILE]`
    named = [layer.realPath for layer in layers] + [str(asset) for asset in assets]
    files = {path.resolve(), *(Path(name.partition("[")[0]).resolve() for name in named if name)}
    files = {file for file in files if file.is_file()}
    folder = Path(commonpath([file.parent for file in files]))
    if folder != path.resolve().parent and is_shared_folder(folder):
        outside = sorted(str(file) for file in files if not file.is_relative_to(path.resolve().parent))
        raise AssetError(
            f"{path}: refers to {outside[0]}, which has no folder in common with it but {folder}. Expected an asset in "
            "one folder. Copy its files into one, or flatten it: usdcat --flatten.",
            path=str(path),
            file=outside[0],
        )
    for file in sorted(files):
        size = file.stat().st_size
        if size > MAX_USD_BYTES:
            raise AssetError(f"{path}: {file} has {size} bytes, at most {MAX_USD_BYTES} are read.", path=str(path))
    return {file.relative_to(folder).as_posix(): file for file in sorted(files)}


def unreadable(path: Path, exc: Exception) -> AssetError:
    """Returns the error of a file that OpenUSD cannot read."""
    lines = [line.rpartition(" : ")[2].strip("'\" ") for line in str(exc).replace("\\n", "\n").splitlines()]
    reason = next((line for line in lines if line), "unknown reason")
    return AssetError(
        f"{path}: no readable USD ({reason}). Expected a file that `usdchecker` accepts. Export it again.",
        path=str(path),
    )


@dataclass(frozen=True)
class UsdUnits:
    """Units of a stage."""

    length_m: float
    """Metres per unit."""
    mass_kg: float
    """Kilograms per unit."""


class OpenedStage(AssetFile):
    """A composed stage: references, payloads, variants and instances are resolved."""

    def __init__(self, path: Path) -> None:
        """Opens the file.

        Raises:
            AssetError: OpenUSD is not installed, the file cannot be read, something that it refers to is missing, or
                its units make no sense.
        """
        super().__init__(path)
        self.pxr = import_openusd("A USD object")
        try:
            with hide_native_output():
                self.stage = self.pxr.Usd.Stage.Open(str(path))
        except self.pxr.Tf.ErrorException as exc:
            raise unreadable(path, exc) from exc
        self._check_references()
        self.units = self._read_units()
        up = str(self.pxr.UsdGeom.GetStageUpAxis(self.stage))
        self._R_up = _Y_UP if up == "Y" else _Z_UP
        self.time = self.pxr.Usd.TimeCode.EarliestTime()
        self._transforms = self.pxr.UsdGeom.XformCache(self.time)
        self._places: dict[str, np.ndarray] = {}

    def error(self, where: Any, problem: str) -> AssetError:
        """Returns an error about a prim."""
        return super().error(where.GetPath() if hasattr(where, "GetPath") else where, problem)

    def prims(self) -> Iterator[Any]:
        """Yields every active, defined prim with those of instances: below the default prim if joints are there."""
        root = self.stage.GetDefaultPrim()
        own = list(self._below(root)) if root else []
        if any(prim.IsA(self.pxr.UsdPhysics.Joint) for prim in own):
            yield from own
        else:
            yield from self._below(self.stage.GetPseudoRoot())

    def place(self, prim: Any) -> np.ndarray:
        """Returns (4, 4) the affine map from a prim's own coordinates to the stage, in metres with z up."""
        key = str(prim.GetPath())
        if key not in self._places:
            local = np.array(self._transforms.GetLocalToWorldTransform(prim), dtype=float).T
            metric = np.eye(4)
            metric[:3, :3] = self._R_up * self.units.length_m
            found = metric @ local
            if not np.all(np.isfinite(found)) or abs(np.linalg.det(found[:3, :3])) < 1e-30:
                raise self.error(prim, "has a transform that is not finite or makes it flat. Correct its xformOps.")
            self._places[key] = found
        return self._places[key]

    def _below(self, root: Any) -> Iterator[Any]:
        usd = self.pxr.Usd
        for count, prim in enumerate(usd.PrimRange(root, usd.TraverseInstanceProxies(usd.PrimDefaultPredicate))):
            if count >= _MOST_PRIMS:
                raise self.error(root, f"has more than {_MOST_PRIMS} prims. Expected one object. Export it alone.")
            yield prim

    def _check_references(self) -> None:
        found = [" ".join(str(error).split()) for error in self.stage.GetCompositionErrors()]
        if found:
            more = f" And {len(found) - _MOST_NAMED} more like it." if len(found) > _MOST_NAMED else ""
            raise AssetError(
                f"{self.path}: {len(found)} broken references. {' '.join(found[:_MOST_NAMED])}{more} Put the missing "
                "files in their places, or flatten the asset where it is complete: usdcat --flatten.",
                path=str(self.path),
                broken=found,
            )

    def _read_units(self) -> UsdUnits:
        geom, physics = self.pxr.UsdGeom, self.pxr.UsdPhysics
        units = UsdUnits(
            float(geom.GetStageMetersPerUnit(self.stage)), float(physics.GetStageKilogramsPerUnit(self.stage))
        )
        for name, value in (("metersPerUnit", units.length_m), ("kilogramsPerUnit", units.mass_kg)):
            if not _SCALES_M[0] <= value <= _SCALES_M[1]:
                raise AssetError(f"{self.path}: {name} is {value:g}. Expected a positive number.", path=str(self.path))
        if not geom.StageHasAuthoredMetersPerUnit(self.stage):
            self.notices.append("metersPerUnit is missing: read as centimetres, the default of USD")
        return units


def rotation_of(quat: Any) -> np.ndarray:
    """Returns (3, 3) the rotation of a quaternion of OpenUSD; the identity for one of length 0."""
    w, (x, y, z) = float(quat.GetReal()), (float(v) for v in quat.GetImaginary())
    length = float(np.linalg.norm([x, y, z, w]))
    if length < 1e-9:
        return np.eye(3)
    return np.array(Pose.from_quat_xyzw(np.zeros(3), [x / length, y / length, z / length, w / length]).R)


Array = np.ndarray

MAX_TRIANGLES = 5_000_000
"""Largest number of triangles of one mesh."""

_TURNS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
"""(3, 3) rotation from z to the axis of a round primitive."""
_LARGEST_SKEW = 1e-6
"""Largest cosine between the axes of a primitive, and largest relative difference of radii, that keep its shape."""


@dataclass(frozen=True)
class PrimSurface:
    """The geometry of one prim, in its own coordinates."""

    mesh: TriangleMesh
    primitive: Shape | None = None
    """The same geometry as a box, cylinder or sphere, if it is one."""
    corners: Array | None = None
    """(F, 3) places of the triangles' corners in `faceVertexIndices`; None if the prim is no mesh."""
    polygons: Array | None = None
    """(F,) polygon of each triangle; None if the prim is no mesh."""


def read_surface(stage: OpenedStage, prim: Any) -> PrimSurface | None:
    """Reads the geometry of a `UsdGeom.Gprim`; None if its type has no surface that can be grasped or hit.

    Raises:
        AssetError: A mesh names a point that it does not have, or a number is not finite.
    """
    kind = str(prim.GetTypeName())
    if kind == "Mesh":
        return _read_mesh(stage, prim)
    primitive, mesh = _read_primitive(stage, prim, kind)
    if mesh is None and primitive is not None:
        mesh = primitive_mesh(primitive.kind, primitive.size).moved(primitive.T_link_shape)
    return None if mesh is None else PrimSurface(mesh, primitive)


def placed_primitive(primitive: Shape, affine: Array) -> Shape | None:
    """Returns a primitive in another frame; None if the (4, 4) affine map makes another shape of it."""
    M = affine[:3, :3] @ primitive.T_link_shape.R
    scale = np.linalg.norm(M, axis=0)
    axes = M / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > _LARGEST_SKEW:
        return None
    if primitive.kind is ShapeKind.box:
        size = tuple(float(v) for v in np.asarray(primitive.size) * scale)
    else:
        alike = scale if primitive.kind is ShapeKind.sphere else scale[:2]
        if np.ptp(alike) > _LARGEST_SKEW * scale.max():
            return None
        size = tuple(float(v) for v in np.asarray(primitive.size) * scale[[0, 2]][: len(primitive.size)])
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1  # these shapes are their own mirror images
    return Shape(primitive.kind, size, Pose(axes, affine[:3, :3] @ primitive.T_link_shape.p + affine[:3, 3]))


def read_primvar(stage: OpenedStage, prim: Any, name: str) -> tuple[Array, str] | None:
    """Returns the values of a primvar (N, ...), one for each element, and its interpolation; None without one."""
    primvar = stage.pxr.UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
    if not primvar or not primvar.HasValue():
        return None
    values = primvar.ComputeFlattened(stage.time)
    if values is None:
        return None
    found = np.array(values, dtype=float)
    return (found, str(primvar.GetInterpolation())) if len(found) and np.all(np.isfinite(found)) else None


def _read_primitive(stage: OpenedStage, prim: Any, kind: str) -> tuple[Shape | None, TriangleMesh | None]:
    """Returns a primitive, or the hull of a shape that a URDF does not have; None twice for another type."""

    def number(name: str) -> float:
        attribute = prim.GetAttribute(name)
        value = attribute.Get(stage.time) if attribute else None
        if value is None or not np.isfinite(value) or not value > 0.0:
            raise stage.error(prim, f"has {name}={value}. Expected a number above 0.")
        return float(value)

    if kind == "Cube":
        return Shape(ShapeKind.box, (number("size"),) * 3, Pose.identity()), None
    if kind == "Sphere":
        return Shape(ShapeKind.sphere, (number("radius"),), Pose.identity()), None
    if kind not in ("Capsule", "Cone", "Cylinder", "Cylinder_1"):
        return None, None
    turn = _TURNS.get(str(prim.GetAttribute("axis").Get(stage.time)), _TURNS["Z"])
    if kind == "Cylinder":
        size = (number("radius"), number("height"))
        return Shape(ShapeKind.cylinder, size, Pose(turn, np.zeros(3))), None
    if kind == "Cylinder_1":
        bottom, top, height = number("radiusBottom"), number("radiusTop"), number("height")
        ring = primitive_mesh(ShapeKind.cylinder, (1.0, height)).vertices
        wide = np.where(ring[:, 2] > 0.0, top, bottom)[:, None]
        points = ring * np.column_stack([wide, wide, np.ones_like(wide)])
    elif kind == "Capsule":
        ball = primitive_mesh(ShapeKind.sphere, (number("radius"),)).vertices
        ends = np.array([0.0, 0.0, number("height") / 2])
        points = np.concatenate([ball + ends, ball - ends])
    else:
        radius, height = number("radius"), number("height")
        ring = primitive_mesh(ShapeKind.cylinder, (radius, height)).vertices
        points = np.concatenate([ring[ring[:, 2] < 0.0], [[0.0, 0.0, height / 2]]])
    return None, convex_hull(points @ turn.T)


def _read_mesh(stage: OpenedStage, prim: Any) -> PrimSurface:
    geom = stage.pxr.UsdGeom.Mesh(prim)
    points = _read_array(geom.GetPointsAttr(), stage, float).reshape(-1, 3)
    counts = _read_array(geom.GetFaceVertexCountsAttr(), stage, int)
    indices = _read_array(geom.GetFaceVertexIndicesAttr(), stage, int)
    if int(counts.sum()) != len(indices) or (len(counts) and counts.min() < 0):
        raise stage.error(
            prim, f"has {len(indices)} faceVertexIndices, faceVertexCounts want {int(counts.sum())}. Export it again."
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= len(points)):
        raise stage.error(prim, f"names point {int(indices.max())} of {len(points)}. Export it again.")
    if not np.all(np.isfinite(points)):
        raise stage.error(prim, "has a point that is not finite. Export it again.")
    corners, polygons = fan_triangles(counts)
    if len(corners) > MAX_TRIANGLES:
        raise stage.error(prim, f"has {len(corners)} triangles, at most {MAX_TRIANGLES} are read. Simplify it.")
    holes = _read_array(geom.GetHoleIndicesAttr(), stage, int)
    kept = ~np.isin(polygons, holes)
    corners, polygons = corners[kept], polygons[kept]
    if str(geom.GetOrientationAttr().Get(stage.time)) == "leftHanded":
        corners = corners[:, ::-1]
    return PrimSurface(TriangleMesh(points, indices[corners].reshape(-1, 3)), None, corners, polygons)


def _read_array(attribute: Any, stage: OpenedStage, kind: type) -> Array:
    values = attribute.Get(stage.time) if attribute else None
    return np.zeros(0, dtype=kind) if values is None else np.array(values, dtype=kind)


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
