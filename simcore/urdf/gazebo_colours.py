"""Colours that `<gazebo>` blocks of a URDF state for its links."""

from __future__ import annotations

import xml.etree.ElementTree as ET

_GAZEBO_RGB = {
    "Black": "0 0 0",
    "Blue": "0 0 1",
    "DarkGrey": "0.175 0.175 0.175",
    "Green": "0 1 0",
    "Grey": "0.7 0.7 0.7",
    "Orange": "1 0.5088 0.0468",
    "Purple": "1 0 1",
    "Red": "1 0 0",
    "Turquoise": "0 1 1",
    "White": "1 1 1",
    "Yellow": "1 1 0",
}
"""Diffuse colours of Gazebo's own materials, `Gazebo/NAME` (its `gazebo.material`)."""


def take_gazebo_colours(root: ET.Element) -> None:
    """Gives visuals without a material the colour that `<gazebo reference="LINK">` states for their link."""
    links = {link.get("name"): link for link in root.findall("link")}
    for block in root.findall("gazebo"):
        link, named = links.get(block.get("reference", "")), (block.findtext("material") or "").strip()
        text = block.findtext("visual/material/diffuse") or _GAZEBO_RGB.get(named.removeprefix("Gazebo/"))
        if link is None or text is None:
            continue
        for visual in link.findall("visual"):
            if visual.find("material") is None:
                ET.SubElement(ET.SubElement(visual, "material"), "color", {"rgba": text})
