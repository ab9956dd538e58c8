"""Reads objects of PartNet-Mobility from the folders that users download."""
