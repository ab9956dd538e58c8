"""Exports: data sets in the formats that policies are trained from, one exporter a file."""
