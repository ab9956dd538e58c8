"""The catalog of annotators."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

_HERE = "unlatch.simcore.sim.annotators"

ANNOTATORS = Catalog(
    "annotator",
    {
        "boxes_2d_loose": CatalogEntry(f"{_HERE}.boxes_2d_loose:LooseBoxes2d", "boxes about all of a thing"),
        "boxes_2d_tight": CatalogEntry(f"{_HERE}.boxes_2d_tight:TightBoxes2d", "boxes about what is seen of a thing"),
        "boxes_3d": CatalogEntry(f"{_HERE}.boxes_3d:Boxes3d", "boxes in space and their corners in the image"),
        "distance_to_camera": CatalogEntry(f"{_HERE}.depth:DistanceToCamera", "distance from the camera's centre"),
        "distance_to_image_plane": CatalogEntry(f"{_HERE}.depth:DistanceToImagePlane", "depth along the camera's z"),
        "instance_segmentation": CatalogEntry(f"{_HERE}.segmentation:InstanceSegmentation", "which link is seen"),
        "keypoints": CatalogEntry(f"{_HERE}.keypoints:Keypoints", "annotated points in the image, seen or hidden"),
        "normals": CatalogEntry(f"{_HERE}.normals:Normals", "directions of the surfaces seen"),
        "occlusion": CatalogEntry(f"{_HERE}.occlusion:Occlusion", "how much of a thing is hidden"),
        "point_cloud": CatalogEntry(f"{_HERE}.point_cloud:PointCloud", "the image as points in the world"),
        "poses": CatalogEntry(f"{_HERE}.poses:Poses", "poses in the camera frame, centres in the image"),
        "rgb": CatalogEntry(f"{_HERE}.rgb:Rgb", "colours"),
        "semantic_segmentation": CatalogEntry(f"{_HERE}.segmentation:SemanticSegmentation", "which kind of thing"),
    },
    group="unlatch.annotators",
    contract="unlatch.simcore.sim.annotators.annotator:Annotator",
)
