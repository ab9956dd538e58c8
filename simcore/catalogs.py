"""Catalogs of renderers, annotators and exporters: what there is, without importing it."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry, own_entries

AUTO = "auto"
"""The name that stands for the renderer that suits the images and this machine."""
SOFTWARE = "software"
"""Name of the renderer that is always there."""
RENDERERS = Catalog(
    "renderer",
    own_entries(
        "simcore.sim.renderers.",
        {
            "mitsuba": ("mitsuba:MitsubaRenderer", "path tracing for pictures of record: extra 'pathtrace'"),
            "pygfx": ("pygfx:PygfxRenderer", "physically based pictures by wgpu: Vulkan, extra 'render'"),
            "software": (
                "software:SoftwareRenderer",
                "physically based pictures by the processor: everywhere, on one core",
            ),
        },
    ),
    group="unlatch.renderers",
    contract="unlatch.simcore.sim.renderers.renderer:Renderer",
    listed_by="unlatch list renderers",
    stand_ins=(AUTO,),
    former=dict.fromkeys(("egl", "embree", "tiny"), "software"),
)


ANNOTATORS = Catalog(
    "annotator",
    own_entries(
        "simcore.sim.annotators.annotators:",
        {
            "boxes_2d_loose": ("LooseBoxes2d", "boxes around whole things, hidden parts too"),
            "boxes_2d_tight": ("TightBoxes2d", "boxes around visible pixels"),
            "boxes_3d": ("Boxes3d", "boxes in space and their corners in the image"),
            "distance_to_camera": ("DistanceToCamera", "distance from the camera's centre"),
            "distance_to_image_plane": ("DistanceToImagePlane", "depth along the camera's z"),
            "instance_segmentation": ("InstanceSegmentation", "visible link of each pixel"),
            "keypoints": ("Keypoints", "annotated points in the image, visible or hidden"),
            "normals": ("Normals", "normals of the visible surfaces"),
            "occlusion": ("Occlusion", "hidden share of each thing"),
            "point_cloud": ("PointCloud", "the image as points in the world"),
            "poses": ("Poses", "poses in the camera frame, centres in the image"),
            "rgb": ("Rgb", "colours"),
            "semantic_segmentation": ("SemanticSegmentation", "labels of each pixel"),
        },
    ),
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
