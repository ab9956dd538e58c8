"""YAML files that Unlatch finds through the entry point `unlatch.configs`."""
