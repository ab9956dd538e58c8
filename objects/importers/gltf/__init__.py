"""Reads objects from glTF files whose nodes have joints."""
