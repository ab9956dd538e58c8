"""Objects of PartNet-Mobility, read from the folders that users download."""
