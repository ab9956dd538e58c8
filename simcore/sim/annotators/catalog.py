"""The catalog of annotators."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

_HERE = "unlatch.simcore.sim.annotators.annotators"

ANNOTATORS = Catalog(
    "annotator",
    {
        "boxes_2d_loose": CatalogEntry(f"{_HERE}:LooseBoxes2d", "boxes around whole things, hidden parts too"),
        "boxes_2d_tight": CatalogEntry(f"{_HERE}:TightBoxes2d", "boxes around visible pixels"),
        "boxes_3d": CatalogEntry(f"{_HERE}:Boxes3d", "boxes in space and their corners in the image"),
        "distance_to_camera": CatalogEntry(f"{_HERE}:DistanceToCamera", "distance from the camera's centre"),
        "distance_to_image_plane": CatalogEntry(f"{_HERE}:DistanceToImagePlane", "depth along the camera's z"),
        "instance_segmentation": CatalogEntry(f"{_HERE}:InstanceSegmentation", "visible link of each pixel"),
        "keypoints": CatalogEntry(f"{_HERE}:Keypoints", "annotated points in the image, visible or hidden"),
        "normals": CatalogEntry(f"{_HERE}:Normals", "normals of the visible surfaces"),
        "occlusion": CatalogEntry(f"{_HERE}:Occlusion", "hidden share of each thing"),
        "point_cloud": CatalogEntry(f"{_HERE}:PointCloud", "the image as points in the world"),
        "poses": CatalogEntry(f"{_HERE}:Poses", "poses in the camera frame, centres in the image"),
        "rgb": CatalogEntry(f"{_HERE}:Rgb", "colours"),
        "semantic_segmentation": CatalogEntry(f"{_HERE}:SemanticSegmentation", "labels of each pixel"),
    },
    group="unlatch.annotators",
    contract="unlatch.simcore.sim.annotators.annotation:Annotator",
    listed_by="unlatch list annotators",
)
