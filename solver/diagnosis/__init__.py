"""Why there is no plan, in the words of the YAML."""
