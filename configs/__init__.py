"""Hydra groups (the YAML files beside this one), their schemas, and how they are composed and checked."""
