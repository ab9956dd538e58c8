"""Reads XML files as untrusted input: no document type, no entities, bounded sizes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from xml.parsers import expat

from unlatch.simcore.errors import AssetError

MAX_XML_BYTES = 8_000_000
MAX_ELEMENTS = 200_000


def parse_xml(path: Path, *, root_tag: str | None = None) -> ET.Element:
    """Returns the root element of an XML file, which must have the tag `root_tag` if it is given.

    Prefixes of names (`drake:member`) stay as they are written, and need no declaration: as for the URDF readers of
    Bullet and ROS.

    Raises:
        AssetError: The file is missing, too large or not XML, declares a DOCTYPE or an ENTITY, or has another root.
    """
    try:
        size = path.stat().st_size
        if size > MAX_XML_BYTES:
            raise AssetError(f"{path}: {size} bytes, at most {MAX_XML_BYTES} are read.", path=str(path))
        data = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: the file cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    root = _parse_elements(data, path)
    if root_tag is not None and root.tag != root_tag:
        raise AssetError(f"{path}: the root element is <{root.tag}>, expected <{root_tag}>.", path=str(path))
    return root


def _parse_elements(data: bytes, path: Path) -> ET.Element:
    """Returns the root element of a document, without resolving namespaces."""
    builder = ET.TreeBuilder()
    count = 0

    def refuse(*_: object) -> None:
        raise AssetError(
            f"{path}: the XML declares a DOCTYPE or an ENTITY, which is refused. Remove the declaration.",
            path=str(path),
        )

    def start_element(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise AssetError(f"{path}: more than {MAX_ELEMENTS} XML elements.", path=str(path))
        builder.start(tag, attributes)

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start_element
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as exc:  # an unknown encoding, too
        raise AssetError(f"{path}: not well-formed XML ({exc}).", path=str(path)) from exc
    return builder.close()
