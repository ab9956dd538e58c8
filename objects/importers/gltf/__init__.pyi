from .gltf_file import has_joints as has_joints
from .gltf_file import is_gltf as is_gltf
from .reader import write_urdf as write_urdf
