"""Reads XML as untrusted input: no document type, no entities, bounded sizes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from xml.parsers import expat

from unlatch.simcore.errors import AssetError

MAX_URDF_BYTES = 8_000_000
MAX_ELEMENTS = 200_000


def parse_xml(path: Path) -> ET.Element:
    """The root element of an XML file that has no document type and no entities of its own.

    Raises:
        AssetError: The file is missing, too large, not XML, or declares a DOCTYPE or an ENTITY.
    """
    try:
        size = path.stat().st_size
        if size > MAX_URDF_BYTES:
            raise AssetError(f"{path}: {size} bytes, at most {MAX_URDF_BYTES} are read.", path=str(path))
        data = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: the URDF cannot be read ({exc.strerror or exc}).", path=str(path)) from exc
    _refuse_declarations(data, path)
    try:
        return ET.fromstring(data)
    except (ET.ParseError, ValueError, LookupError) as exc:
        raise AssetError(f"{path}: no well-formed XML ({exc}).", path=str(path)) from exc


def _refuse_declarations(data: bytes, path: Path) -> None:
    count = 0

    def refuse(*_: object) -> None:
        raise AssetError(
            f"{path}: the XML declares a DOCTYPE or an ENTITY, which a URDF never needs. Remove the declaration.",
            path=str(path),
        )

    def element(*_: object) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise AssetError(f"{path}: more than {MAX_ELEMENTS} XML elements.", path=str(path))

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = element
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as exc:  # an encoding that is none, too
        raise AssetError(f"{path}: no well-formed XML ({exc}).", path=str(path)) from exc
