"""YAML files, found by Unlatch through the entry point `unlatch.configs`."""
