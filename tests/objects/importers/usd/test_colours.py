"""Materials of USD files: preview surfaces, those of Isaac Sim, subsets of faces, and pictures."""

from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotate.source import urdf_of
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.textured_files import textured_files
from unlatch.simcore.meshes.obj_file import linear_light, read_textured_surface, srgb_light
from unlatch.simcore.urdf.reader import read_urdf

pytest.importorskip("pxr", reason="USD needs the package usd-core of the extra usd")

DOOR = """#usda 1.0
(
    defaultPrim = "Root"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "Root"
{
    def Xform "body" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        def Mesh "two" ( prepend apiSchemas = ["MaterialBindingAPI"] )
        {
            rel material:binding = </Root/Looks/preview>
            point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)]
            int[] faceVertexCounts = [4, 3]
            int[] faceVertexIndices = [0, 1, 2, 3, 0, 1, 4]
            def GeomSubset "second" ( prepend apiSchemas = ["MaterialBindingAPI"] )
            {
                uniform token elementType = "face"
                uniform token familyName = "materialBind"
                int[] indices = [1]
                rel material:binding = </Root/Looks/isaac>
            }
        }
    }
    def Xform "door" ( prepend apiSchemas = ["PhysicsRigidBodyAPI"] )
    {
        def Cube "plain"
        {
            color3f[] primvars:displayColor = [(1, 0, 0)]
        }
    }
    def Scope "Looks"
    {
        def Material "preview"
        {
            token outputs:surface.connect = </Root/Looks/preview/shader.outputs:surface>
            def Shader "shader"
            {
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor = (0.25, 0.5, 1)
                float inputs:opacity = 0.5
                token outputs:surface
            }
        }
        def Material "isaac"
        {
            token outputs:mdl:surface.connect = </Root/Looks/isaac/shader.outputs:out>
            def Shader "shader"
            {
                uniform token info:implementationSource = "sourceAsset"
                uniform asset info:mdl:sourceAsset = @OmniPBR.mdl@
                uniform token info:mdl:sourceAsset:subIdentifier = "OmniPBR"
                color3f inputs:diffuse_color_constant = (0, 1, 0)
                token outputs:out
            }
        }
    }
    def PhysicsRevoluteJoint "hinge"
    {
        rel physics:body0 = </Root/body>
        rel physics:body1 = </Root/door>
    }
}
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))


def colour(shape):
    assert shape.rgba is not None
    return (*(linear_light(v) for v in shape.rgba[:3]), shape.rgba[3])


def test_each_material_of_a_mesh_has_its_colour(tmp_path):
    path = tmp_path / "door.usda"
    path.write_text(DOOR)
    model = read_urdf(urdf_of(path).path)
    second, first = model.links["body"].visuals
    assert colour(first) == pytest.approx((0.25, 0.5, 1.0, 0.5), abs=1e-4)
    assert colour(second) == pytest.approx((0.0, 1.0, 0.0, 1.0), abs=1e-4)
    (plain,) = model.links["door"].visuals
    assert colour(plain) == pytest.approx((1.0, 0.0, 0.0, 1.0), abs=1e-4)


def test_linear_light_is_the_inverse_of_srgb():
    values = np.linspace(0.0, 1.0, 41)
    assert [linear_light(srgb_light(v)) for v in values] == pytest.approx(values, abs=1e-6)


def test_pictures_survive_an_export(tmp_path):
    made = GENERATORS.load("drawer")(4, name="drawer")
    model, files = textured_files(made)
    (tmp_path / "in").mkdir()
    for name, data in {"object.urdf": model.to_urdf().encode(), **files}.items():
        (tmp_path / "in" / name).write_bytes(data)
    converter = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(tmp_path / "in" / "object.urdf"), out_dir=str(tmp_path / "out"), fix_base=False, usd=True
        )
    )
    before, after = read_urdf(Path(converter.urdf_path)), read_urdf(urdf_of(Path(converter.usd_path)).path)

    def textured(shapes):
        """Picture and number of triangles of each textured shape."""
        found = [read_textured_surface(shape.path, tmp_path) for shape in shapes if shape.path is not None]
        return sorted((item.picture.read_bytes(), len(item.faces)) for item in found if item is not None)

    for name, link in before.links.items():
        assert textured(after.links[name].visuals) == textured(link.visuals)
    assert any(textured(link.visuals) for link in before.links.values())
