"""Catalogs of renderers, annotators and exporters: what there is, without importing it."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

AUTO = "auto"
"""The name that stands for the renderer that suits the images and this machine."""
SOFTWARE = "software"
"""Name of the renderer that is always there."""
RENDERERS = Catalog(
    "renderer",
    {
        "mitsuba": CatalogEntry(
            "unlatch.simcore.sim.renderers.mitsuba:MitsubaRenderer",
            "path tracing for pictures of record: extra 'pathtrace'",
        ),
        "pygfx": CatalogEntry(
            "unlatch.simcore.sim.renderers.pygfx:PygfxRenderer",
            "physically based pictures by wgpu: Vulkan, extra 'render'",
        ),
        "software": CatalogEntry(
            "unlatch.simcore.sim.renderers.software:SoftwareRenderer",
            "physically based pictures by the processor: everywhere, on one core",
        ),
    },
    group="unlatch.renderers",
    contract="unlatch.simcore.sim.renderers.renderer:Renderer",
    listed_by="unlatch list renderers",
    stand_ins=(AUTO,),
    former=dict.fromkeys(("egl", "embree", "tiny"), "software"),
)


_ANNOTATORS = "unlatch.simcore.sim.annotators.annotators"
ANNOTATORS = Catalog(
    "annotator",
    {
        "boxes_2d_loose": CatalogEntry(f"{_ANNOTATORS}:LooseBoxes2d", "boxes around whole things, hidden parts too"),
        "boxes_2d_tight": CatalogEntry(f"{_ANNOTATORS}:TightBoxes2d", "boxes around visible pixels"),
        "boxes_3d": CatalogEntry(f"{_ANNOTATORS}:Boxes3d", "boxes in space and their corners in the image"),
        "distance_to_camera": CatalogEntry(f"{_ANNOTATORS}:DistanceToCamera", "distance from the camera's centre"),
        "distance_to_image_plane": CatalogEntry(f"{_ANNOTATORS}:DistanceToImagePlane", "depth along the camera's z"),
        "instance_segmentation": CatalogEntry(f"{_ANNOTATORS}:InstanceSegmentation", "visible link of each pixel"),
        "keypoints": CatalogEntry(f"{_ANNOTATORS}:Keypoints", "annotated points in the image, visible or hidden"),
        "normals": CatalogEntry(f"{_ANNOTATORS}:Normals", "normals of the visible surfaces"),
        "occlusion": CatalogEntry(f"{_ANNOTATORS}:Occlusion", "hidden share of each thing"),
        "point_cloud": CatalogEntry(f"{_ANNOTATORS}:PointCloud", "the image as points in the world"),
        "poses": CatalogEntry(f"{_ANNOTATORS}:Poses", "poses in the camera frame, centres in the image"),
        "rgb": CatalogEntry(f"{_ANNOTATORS}:Rgb", "colours"),
        "semantic_segmentation": CatalogEntry(f"{_ANNOTATORS}:SemanticSegmentation", "labels of each pixel"),
    },
    group="unlatch.annotators",
    contract="unlatch.simcore.sim.annotators.annotation:Annotator",
    listed_by="unlatch list annotators",
)


EXPORTERS = Catalog(
    "export format",
    {
        "lerobot": CatalogEntry(
            "unlatch.simcore.recording.export.lerobot:LeRobotExporter",
            "LeRobot data set v3.0, for LeRobot's trainers, the Hugging Face hub and Rerun (extra export)",
            extra="export",
        ),
        "maniskill": CatalogEntry(
            "unlatch.simcore.recording.export.hdf5:ManiSkillExporter",
            "ManiSkill's trajectory.h5 and .json (extra hdf5)",
        ),
        "robomimic": CatalogEntry(
            "unlatch.simcore.recording.export.hdf5:RobomimicExporter", "robomimic's HDF5, one file (extra hdf5)"
        ),
    },
    group="unlatch.exporters",
    contract="unlatch.simcore.recording.export.exporter:Exporter",
    listed_by="unlatch list exporters",
)
"""Formats by name, the `format` of `unlatch export`."""
