"""The struct types of wgpu that are read at once are those that cffi reads one by one."""

from __future__ import annotations

import pytest

pytest.importorskip("pygfx")

from wgpu.backends.wgpu_native._ffi import ffi

from unlatch.simcore.sim.renderers.pygfx import _read_struct_types

NAMES = ("WGPULimits *", "WGPUColor *", "WGPURenderPassDescriptor *", "WGPUBindGroupEntry *")
ARRAYS = ("WGPUBindGroupEntry[]", "WGPUTexture[]", "char []", "uint8_t[]", "uint8_t []", "uint32_t []")
NUMBERS = ("intptr_t", "uintptr_t")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ffi, "_parsed_types", {})


def test_structs_are_known_without_another_run_of_the_parser(monkeypatch: pytest.MonkeyPatch, unread: None):
    _read_struct_types()
    monkeypatch.setattr(ffi._parser, "parse_type", None)
    for name in NAMES:
        assert ffi.new(name)
    for name in ARRAYS:
        assert len(ffi.new(name, 3)) == 3
    for name in NUMBERS:
        assert ffi.cast(name, 7)


@pytest.mark.slow
def test_types_are_those_that_cffi_reads_itself(monkeypatch: pytest.MonkeyPatch, unread: None):
    names = (*NAMES, *ARRAYS, *NUMBERS)
    read_by_cffi = [ffi.typeof(name) for name in names]
    monkeypatch.setattr(ffi, "_parsed_types", {})
    _read_struct_types()
    assert [ffi.typeof(name) for name in names] == read_by_cffi


def test_a_cffi_that_keeps_its_types_elsewhere_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ffi, "_parsed_types", None)
    _read_struct_types()
    assert ffi._parsed_types is None
