"""Writes converted assets as USD with the physics schema of OpenUSD; needs the extra `usd`.

Written with `usd-core` itself: `urdf-usd-converter` brings an OpenUSD of its own that overwrites `usd-core` in the same
environment, and knows neither our configuration nor our colliders. Values that only PhysX has (damping, offsets,
self-collision) are written as the attributes of its schema, which other engines ignore.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.converted_asset import ConvertedAsset, ConvertedLink, PlacedMesh
from unlatch.objects.importers.urdf_parts import unused_name
from unlatch.objects.importers.usd_stage import import_openusd
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.obj_file import TexturedSurface, linear_light
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Inertial, Joint

TEXTURE_FOLDER = "textures"
"""Folder of pictures, beside the USD."""
_ROUGHNESS = 0.6

Colour = tuple[float, float, float, float]


class UsdMaterials:
    """Makes the materials of an asset. Colours of a URDF (sRGB) are written in linear light, as USD requires."""

    def __init__(self, folder: Path) -> None:
        """Starts without materials; pictures are copied below the folder of the USD."""
        self._folder = folder
        self._pxr = import_openusd()
        self._pictures: dict[Path, Path] = {}

    def bind(self, prim: Any, path: str, rgba: Colour, surface: TexturedSurface | None) -> None:
        """Gives a mesh its material.

        Args:
            prim: The mesh; with a picture, it gets texture coordinates, one for each of its points.
            path: Path of the material; an existing material there is used.
            rgba: Colour and opacity.
            surface: The textured surface of the mesh, if it has one.
        """
        stage = prim.GetStage()
        material = self._pxr.UsdShade.Material.Get(stage, path)
        if not material:
            material = self._define_material(stage, path, rgba, surface)
        self._pxr.UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)
        if surface is not None:
            api = self._pxr.UsdGeom.PrimvarsAPI(prim)
            uvs = api.CreatePrimvar("st", self._pxr.Sdf.ValueTypeNames.TexCoord2fArray, self._pxr.UsdGeom.Tokens.vertex)
            uvs.Set(self._pxr.Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(surface.uvs, dtype=np.float32)))

    def _define_material(self, stage: Any, path: str, rgba: Colour, surface: TexturedSurface | None) -> Any:
        types = self._pxr.Sdf.ValueTypeNames
        material = self._pxr.UsdShade.Material.Define(stage, path)
        shader = self._pxr.UsdShade.Shader.Define(stage, f"{path}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("roughness", types.Float).Set(_ROUGHNESS)
        shader.CreateInput("metallic", types.Float).Set(0.0)
        shader.CreateInput("opacity", types.Float).Set(float(rgba[3]))
        colour = shader.CreateInput("diffuseColor", types.Color3f)
        red, green, blue = (linear_light(value) for value in rgba[:3])
        if surface is None:
            colour.Set(self._pxr.Gf.Vec3f(red, green, blue))
        else:
            reader = self._pxr.UsdShade.Shader.Define(stage, f"{path}/places")
            reader.CreateIdAttr("UsdPrimvarReader_float2")
            reader.CreateInput("varname", types.String).Set("st")
            picture = self._pxr.UsdShade.Shader.Define(stage, f"{path}/picture")
            picture.CreateIdAttr("UsdUVTexture")
            picture.CreateInput("file", types.Asset).Set(
                self._pxr.Sdf.AssetPath(self._copy_picture(stage, surface.picture))
            )
            picture.CreateInput("sourceColorSpace", types.Token).Set("sRGB")
            picture.CreateInput("scale", types.Float4).Set(self._pxr.Gf.Vec4f(red, green, blue, 1.0))
            for wrap in ("wrapS", "wrapT"):
                picture.CreateInput(wrap, types.Token).Set("repeat")
            places = reader.CreateOutput("result", types.Float2)
            picture.CreateInput("st", types.Float2).ConnectToSource(places)
            colour.ConnectToSource(picture.CreateOutput("rgb", types.Float3))
        material.CreateSurfaceOutput().ConnectToSource(shader.CreateOutput("surface", types.Token))
        return material

    def _copy_picture(self, stage: Any, picture: Path) -> str:
        """Returns the path of a copied picture, relative to the file of a stage."""
        if picture not in self._pictures:
            folder = self._folder / TEXTURE_FOLDER
            folder.mkdir(parents=True, exist_ok=True)
            target, number = folder / picture.name, 1
            while target.exists():
                target, number = folder / f"{picture.stem}_{number}{picture.suffix}", number + 1
            shutil.copyfile(picture, target)
            self._pictures[picture] = target
        layer = Path(stage.GetRootLayer().realPath).parent
        relative = os.path.relpath(self._pictures[picture].resolve(), layer.resolve()).replace(os.sep, "/")
        return f"./{relative}"


LOOKS = "looks"
"""Name of the scope of materials: below the root prim, or beside a shared mesh."""

_RIGID = {
    "disable_gravity": "disableGravity",
    "linear_damping": "linearDamping",
    "angular_damping": "angularDamping",
    "max_linear_velocity": "maxLinearVelocity",
    "max_angular_velocity": "maxAngularVelocity",
}
"""Attributes of PhysX by our names."""


def write_usd(asset: ConvertedAsset, path: Path, meshes_path: Path, *, instanceable: bool) -> None:
    """Writes an asset as one USD file and, if meshes are shared, another one with the meshes.

    The root prim is an Xform. A single body has its physics there and its surface under `geometry`. An articulation has
    one Xform for each link, and its joints under `joints`. Metres, kilograms, z up.

    Args:
        asset: What was converted.
        path: The file; its ending says whether it is text (`.usda`).
        meshes_path: The file of the shared meshes.
        instanceable: Whether meshes are shared by reference.

    Raises:
        AssetError: OpenUSD is not installed, or cannot write there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _UsdWriter(asset, path, meshes_path, instanceable=instanceable).write()


def usd_name(name: str, taken: set[str]) -> str:
    """Returns a valid and unused name for a prim, and adds it to the taken names."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name) or "_"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return unused_name(plain, taken)


@dataclass
class _Prototypes:
    """The file of the shared meshes."""

    stage: Any
    reference: str
    """Its path relative to the main file."""
    by_key: dict[object, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


class _UsdWriter:
    def __init__(self, asset: ConvertedAsset, path: Path, meshes_path: Path, *, instanceable: bool) -> None:
        self.asset = asset
        self.pxr = import_openusd()
        self.stage = self._new_stage(path)
        self.looks = UsdMaterials(path.parent)
        self._look_names: dict[object, str] = {}
        self.shared: _Prototypes | None = None
        if instanceable:
            meshes_path.parent.mkdir(parents=True, exist_ok=True)
            reference = os.path.relpath(meshes_path, path.parent).replace(os.sep, "/")
            self.shared = _Prototypes(self._new_stage(meshes_path), f"./{reference}")

    def write(self) -> None:
        root = self.pxr.UsdGeom.Xform.Define(self.stage, f"/{usd_name(self.asset.model.name, set())}").GetPrim()
        self.stage.SetDefaultPrim(root)
        if self.asset.model.joints or self.asset.approximation is None:
            self._write_articulation(root)
        else:
            (name,) = self.asset.model.links
            self._write_rigid_body(root, name)
        self.stage.GetRootLayer().Save()
        if self.shared is not None:
            self.shared.stage.GetRootLayer().Save()

    def _write_rigid_body(self, root: Any, name: str) -> None:
        physics, link = self.asset.physics, self.asset.model.links[name]
        if physics["rigid"]:
            self._apply_rigid_api(root, physics["rigid"])
        if physics["mass"]:
            self._apply_mass_api(root, link.inertial, physics["mass"])
        collision = physics["collision"]

        def collider(prim: Any) -> None:
            if self.asset.approximation == "none":
                return
            api = self.pxr.UsdPhysics.CollisionAPI.Apply(prim)
            if "collision_enabled" in collision:
                api.CreateCollisionEnabledAttr(bool(collision["collision_enabled"]))
            self.pxr.UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(self.asset.approximation)
            for key, attribute in (("contact_offset", "contactOffset"), ("rest_offset", "restOffset")):
                if key in collision:
                    self._set_physx(prim, "PhysxCollisionAPI", f"physxCollision:{attribute}", float(collision[key]))

        (visual,) = self.asset.links[name].visuals
        self._write_mesh(f"{root.GetPath()}/geometry", visual, key=("geometry",), finish=collider)

    def _apply_rigid_api(self, prim: Any, values: dict[str, Any]) -> None:
        api = self.pxr.UsdPhysics.RigidBodyAPI.Apply(prim)
        if "kinematic" in values:
            api.CreateKinematicEnabledAttr(bool(values["kinematic"]))
        for key, attribute in _RIGID.items():
            if key in values:
                value = values[key]
                if key == "max_angular_velocity":
                    value = float(np.degrees(value))  # USD's angles are degrees
                self._set_physx(prim, "PhysxRigidBodyAPI", f"physxRigidBody:{attribute}", value)

    def _write_articulation(self, root: Any) -> None:
        model, names = self.asset.model, {"joints", LOOKS}
        paths: dict[str, str] = {}
        for name, link in model.links.items():
            if self.asset.fix_base and name == model.root and not self.asset.links[name].parts:
                continue  # the world is not written as a prim
            paths[name] = f"{root.GetPath()}/{usd_name(name, names)}"
            xform = self.pxr.UsdGeom.Xform.Define(self.stage, paths[name])
            self._set_transform(xform, model.link_pose(name))
            self.pxr.UsdPhysics.RigidBodyAPI.Apply(xform.GetPrim())
            if link.inertial is not None and link.inertial.mass_kg > 0:
                self._apply_mass_api(xform.GetPrim(), link.inertial, {"mass": link.inertial.mass_kg})
            self._write_link_geometry(paths[name], self.asset.links[name])
        self.pxr.UsdGeom.Scope.Define(self.stage, f"{root.GetPath()}/joints")
        taken: set[str] = set()
        for joint in model.joints.values():
            self._write_joint(f"{root.GetPath()}/joints/{usd_name(joint.name, taken)}", joint, paths)
        self.pxr.UsdPhysics.ArticulationRootAPI.Apply(root)
        self_collision = bool(self.asset.physics["self_collision"])
        self._set_physx(root, "PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions", self_collision)

    def _write_link_geometry(self, path: str, link: ConvertedLink) -> None:
        def collider(prim: Any) -> None:
            self.pxr.UsdPhysics.CollisionAPI.Apply(prim)
            self.pxr.UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexHull")
            self.pxr.UsdGeom.Imageable(prim).CreatePurposeAttr("guide")

        if link.visuals:
            self.pxr.UsdGeom.Scope.Define(self.stage, f"{path}/visuals")
        for number, visual in enumerate(link.visuals):
            self._write_mesh(f"{path}/visuals/visual_{number}", visual, key=("visual", id(visual.mesh), visual.rgba))
        if link.parts:
            self.pxr.UsdGeom.Scope.Define(self.stage, f"{path}/collisions")
        for number, part in enumerate(link.parts):
            key = ("part", part.vertices.tobytes(), part.faces.tobytes())
            self._write_mesh(f"{path}/collisions/part_{number}", PlacedMesh(part), key=key, finish=collider)

    def _write_joint(self, path: str, joint: Joint, paths: dict[str, str]) -> None:
        kinds = {"revolute": "RevoluteJoint", "continuous": "RevoluteJoint", "prismatic": "PrismaticJoint"}
        prim = getattr(self.pxr.UsdPhysics, kinds.get(joint.kind, "FixedJoint")).Define(self.stage, path)
        if joint.parent in paths:
            prim.CreateBody0Rel().SetTargets([paths[joint.parent]])
        prim.CreateBody1Rel().SetTargets([paths[joint.child]])
        R_joint_x = _turn_x_to(joint.axis) if joint.moves else np.eye(3)
        first = Pose(joint.T_parent_joint.R @ R_joint_x, joint.T_parent_joint.p)
        prim.CreateLocalPos0Attr(self.pxr.Gf.Vec3f(*(float(v) for v in first.p)))
        prim.CreateLocalRot0Attr(self._to_quatf(first))
        prim.CreateLocalPos1Attr(self.pxr.Gf.Vec3f(0.0, 0.0, 0.0))
        prim.CreateLocalRot1Attr(self._to_quatf(Pose(R_joint_x, np.zeros(3))))
        if not joint.moves:
            return
        prim.CreateAxisAttr("X")
        angular = joint.kind != "prismatic"
        unit = float(np.degrees(1.0)) if angular else 1.0
        if joint.kind != "continuous":
            prim.CreateLowerLimitAttr(joint.lower * unit)
            prim.CreateUpperLimitAttr(joint.upper * unit)
        drive = self.asset.physics["drives"][joint.name]
        api = self.pxr.UsdPhysics.DriveAPI.Apply(prim.GetPrim(), "angular" if angular else "linear")
        api.CreateTypeAttr("force")
        api.CreateStiffnessAttr(drive["stiffness"] / unit)
        api.CreateDampingAttr(drive["damping"] / unit)
        if drive["max_effort"] > 0:
            api.CreateMaxForceAttr(drive["max_effort"])
        self._set_physx(prim.GetPrim(), "PhysxJointAPI", "physxJoint:maxJointVelocity", drive["max_velocity"] * unit)
        self._set_physx(prim.GetPrim(), "PhysxJointAPI", "physxJoint:jointFriction", joint.friction)

    def _write_mesh(
        self, path: str, placed: PlacedMesh, *, key: object, finish: Callable[[Any], None] | None = None
    ) -> None:
        """Writes a mesh under a prim of its own: directly, or as an instance of a shared one.

        Args:
            path: The prim.
            placed: The mesh.
            key: Meshes with equal keys share one prim in the file of the shared meshes.
            finish: Is called with the prim of the triangles.
        """
        mesh, rgba, texture = placed.mesh, placed.rgba, placed.texture
        if texture is not None:  # the same triangles; vertices that differ in texture coordinates are separate
            mesh = TriangleMesh(texture.vertices, texture.faces)
        if self.shared is None:
            self._set_transform(self.pxr.UsdGeom.Xform.Define(self.stage, path), placed.T_link_mesh, placed.scale)
            prim = self._define_mesh(self.stage, f"{path}/mesh", mesh, rgba, finish)
            if rgba is not None:
                self.looks.bind(prim, self._look_path(rgba, texture), rgba, texture)
            return
        if key not in self.shared.by_key:
            name = usd_name(path.rpartition("/")[2], self.shared.names)
            prototype = self.pxr.UsdGeom.Xform.Define(self.shared.stage, f"/{name}").GetPrim()
            if not self.shared.by_key:
                self.shared.stage.SetDefaultPrim(prototype)
            self.shared.by_key[key] = f"/{name}"
            prim = self._define_mesh(self.shared.stage, f"/{name}/mesh", mesh, rgba, finish)
            if rgba is not None:  # an instance only shows materials below its prototype
                self.looks.bind(prim, f"/{name}/{LOOKS}", rgba, texture)
        xform = self.pxr.UsdGeom.Xform.Define(self.stage, path)
        self._set_transform(xform, placed.T_link_mesh, placed.scale)
        xform.GetPrim().GetReferences().AddReference(self.shared.reference, self.shared.by_key[key])
        xform.GetPrim().SetInstanceable(True)

    def _look_path(self, rgba: tuple[float, float, float, float], texture: TexturedSurface | None) -> str:
        """Returns the path of the material of a colour and picture; there is one for each pair of them."""
        key = (rgba, None if texture is None else texture.picture)
        name = self._look_names.setdefault(key, f"look_{len(self._look_names)}")
        scope = self.pxr.UsdGeom.Scope.Define(self.stage, f"{self.stage.GetDefaultPrim().GetPath()}/{LOOKS}")
        return f"{scope.GetPath()}/{name}"

    def _define_mesh(self, stage: Any, path: str, mesh: TriangleMesh, rgba: Any, finish: Any) -> Any:
        prim = self.pxr.UsdGeom.Mesh.Define(stage, path)
        points = np.ascontiguousarray(mesh.vertices, dtype=np.float32)
        prim.CreatePointsAttr(self.pxr.Vt.Vec3fArray.FromNumpy(points))
        prim.CreateFaceVertexCountsAttr(self.pxr.Vt.IntArray.FromNumpy(np.full(len(mesh.faces), 3, dtype=np.int32)))
        prim.CreateFaceVertexIndicesAttr(
            self.pxr.Vt.IntArray.FromNumpy(np.ascontiguousarray(mesh.faces.reshape(-1), dtype=np.int32))
        )
        prim.CreateSubdivisionSchemeAttr("none")
        prim.CreateExtentAttr(self.pxr.Vt.Vec3fArray.FromNumpy(np.stack([points.min(axis=0), points.max(axis=0)])))
        if rgba is not None:
            prim.CreateDisplayColorAttr([self.pxr.Gf.Vec3f(*(linear_light(float(c)) for c in rgba[:3]))])
            prim.CreateDisplayOpacityAttr([float(rgba[3])])
        if finish is not None:
            finish(prim.GetPrim())
        return prim.GetPrim()

    def _new_stage(self, path: Path) -> Any:
        try:
            stage = self.pxr.Usd.Stage.CreateNew(str(path))
        except self.pxr.Tf.ErrorException as exc:
            raise AssetError(f"USD '{path}' cannot be written ({exc}). Check the folder.", path=str(path)) from exc
        self.pxr.UsdGeom.SetStageUpAxis(stage, self.pxr.UsdGeom.Tokens.z)
        self.pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        self.pxr.UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        return stage

    def _set_transform(self, xform: Any, T: Pose, scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> None:
        xform.AddTranslateOp().Set(self.pxr.Gf.Vec3d(*(float(v) for v in T.p)))
        xform.AddOrientOp().Set(self._to_quatf(T))
        xform.AddScaleOp().Set(self.pxr.Gf.Vec3f(*(float(v) for v in scale)))

    def _to_quatf(self, T: Pose) -> Any:
        x, y, z, w = (float(v) for v in T.quat_xyzw)
        return self.pxr.Gf.Quatf(w, x, y, z)

    def _apply_mass_api(self, prim: Any, inertial: Inertial | None, given: dict[str, Any]) -> None:
        api = self.pxr.UsdPhysics.MassAPI.Apply(prim)
        if "mass" in given:
            api.CreateMassAttr(float(given["mass"]))
        if "density" in given:
            api.CreateDensityAttr(float(given["density"]))
        if inertial is None or "mass" not in given:
            return
        moments, axes = np.linalg.eigh(inertial.inertia)
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1
        api.CreateCenterOfMassAttr(self.pxr.Gf.Vec3f(*(float(v) for v in inertial.com_link)))
        api.CreateDiagonalInertiaAttr(self.pxr.Gf.Vec3f(*(float(v) for v in moments)))
        api.CreatePrincipalAxesAttr(self._to_quatf(Pose(axes, np.zeros(3))))

    def _set_physx(self, prim: Any, schema: str, name: str, value: Any) -> None:
        types = self.pxr.Sdf.ValueTypeNames
        if schema not in prim.GetAppliedSchemas():
            prim.AddAppliedSchema(schema)
        prim.CreateAttribute(name, types.Bool if isinstance(value, bool) else types.Float).Set(value)


def _turn_x_to(axis: np.ndarray) -> np.ndarray:
    """Returns (3, 3) the rotation that turns x to an axis."""
    x = axis / np.linalg.norm(axis)
    helper = np.array([0.0, 0.0, 1.0]) if abs(x[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    y = np.cross(helper, x)
    y /= np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])
