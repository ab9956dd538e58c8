from .convex_hull import hulls_inertial, mesh_hull
from .mesh_dependencies import model_files
from .mesh_reader import MESH_SUFFIXES, SurfaceMesh, read_coloured_parts, read_mesh
from .mesh_store import MeshStore
from .obj_file import format_obj
from .obj_materials import mesh_colour
from .shape_surface import primitive_mesh, shape_cloud, shape_mesh, surface_distance
from .silhouette import in_front, nearest_through
from .solids import Solids
from .textured_surface import TexturedSurface, linear_light, read_textured_surface
from .triangle_mesh import TriangleMesh, closed_volume, join_meshes, sample_surface, split_components

__all__ = [
    "MESH_SUFFIXES",
    "MeshStore",
    "Solids",
    "SurfaceMesh",
    "TexturedSurface",
    "TriangleMesh",
    "closed_volume",
    "format_obj",
    "hulls_inertial",
    "in_front",
    "join_meshes",
    "linear_light",
    "mesh_colour",
    "mesh_hull",
    "model_files",
    "nearest_through",
    "primitive_mesh",
    "read_coloured_parts",
    "read_mesh",
    "read_textured_surface",
    "sample_surface",
    "shape_cloud",
    "shape_mesh",
    "split_components",
    "surface_distance",
]
