"""Materials of a USD: a UsdPreviewSurface for each colour, with a picture if a surface has one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.importers.usd.openusd import import_openusd
from unlatch.simcore.meshes.textured_surface import TexturedSurface, linear_light

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
