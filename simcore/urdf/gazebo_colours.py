"""Reads the colours that a URDF states for the simulator Gazebo."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

_GAZEBO_RGB = dict(
    zip(
        ("Black", "Blue", "DarkGrey", "Green", "Grey", "Orange", "Purple", "Red", "White", "Yellow"),
        ("0 0 0", "0 0 1", ".175 .175 .175", "0 1 0", ".7 .7 .7", "1 .51 .05", "1 0 1", "1 0 0", "1 1 1", "1 1 0"),
        strict=True,
    )
)
"""Diffuse colours of Gazebo's own materials, `Gazebo/NAME` (its `gazebo.material`)."""
_GAZEBO_COLOURS = (
    "visual/material/diffuse",
    "material",
    "visual/material",
    "material/script/name",
    "visual/material/script/name",
)
"""Where a block of Gazebo has numbers of a colour or the name of a material; other text there is ignored."""


def take_gazebo_colours(root: ET.Element) -> None:
    """Gives visuals without a material the colour that `<gazebo reference="LINK">` states for their link."""
    links = {link.get("name"): link for link in root.findall("link")}
    for block in root.findall("gazebo"):
        link = links.get(block.get("reference", ""))
        stated = [(block.findtext(place) or "").strip() for place in _GAZEBO_COLOURS]
        texts = [_GAZEBO_RGB.get(text.removeprefix("Gazebo/"), text) for text in stated]
        text = next((text for text in texts if _is_colour(text)), None)
        if link is None or text is None:
            continue
        for visual in link.findall("visual"):
            if visual.find("material") is None:
                ET.SubElement(ET.SubElement(visual, "material"), "color", {"rgba": text})


def _is_colour(text: str) -> bool:
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(values) in (3, 4) and all(map(math.isfinite, values))
