"""Objects: how one is loaded, what its annotation says, and how a generator builds one.

    import numpy as np
    from unlatch.objects import ObjectCfg, load_object

    drawer = load_object(ObjectCfg(name="drawer", category="drawer"), rng=np.random.default_rng(0))
    for name, part in drawer.articulation.parts.items():
        print(name, part.kind, part.joint)

A generator of a plugin is an `ObjectGenerator`: a table of the values that vary, and a function that builds links and
parts from them (entry points `unlatch.objects`).
"""

from unlatch.objects.annotation import Articulation, Handle, HandleType, Openness, Part, PartKind, write_articulation
from unlatch.objects.annotation_entries import Catch, ClosingForces, FixedHandle, Gasket
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.mechanisms import (
    Closer,
    Detent,
    Interlock,
    Latch,
    Mimic,
    PressAndTurn,
    PushLatch,
    Release,
    SoftClose,
    Spring,
)
from unlatch.objects.procedural.assembly import (
    HOLDING,
    Assembly,
    GeneratedObject,
    ObjectGenerator,
    PartMotion,
    lid_motion,
)
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.colours import CHROME, DARK, PLASTICS
from unlatch.objects.procedural.handles import PanelGrip
from unlatch.objects.procedural.links import DRAWER_FRONT, LID_BEHIND, LinkBuilder, PanelBuilder
from unlatch.objects.procedural.parameters import Drawn, either, one_of, uniform, whole
from unlatch.objects.scene_object import SceneObject
from unlatch.objects.validation import validate_articulation

__all__ = [
    "CHROME",
    "DARK",
    "DRAWER_FRONT",
    "GENERATORS",
    "HOLDING",
    "LID_BEHIND",
    "PLASTICS",
    "Articulation",
    "Assembly",
    "Catch",
    "Closer",
    "ClosingForces",
    "Detent",
    "Drawn",
    "FixedHandle",
    "Gasket",
    "GeneratedObject",
    "Handle",
    "HandleType",
    "Interlock",
    "Latch",
    "LinkBuilder",
    "Mimic",
    "ObjectAsset",
    "ObjectCfg",
    "ObjectGenerator",
    "Openness",
    "PanelBuilder",
    "PanelGrip",
    "Part",
    "PartKind",
    "PartMotion",
    "PressAndTurn",
    "PushLatch",
    "Release",
    "SceneObject",
    "SoftClose",
    "Spring",
    "either",
    "lid_motion",
    "load_object",
    "one_of",
    "uniform",
    "validate_articulation",
    "whole",
    "write_articulation",
]
