"""What everything stands on: errors, catalogs, random streams, geometry, state, simulation, recording and assets."""
