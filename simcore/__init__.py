"""The base of all other packages: errors, catalogs, random streams, geometry, state, simulation and recording."""
