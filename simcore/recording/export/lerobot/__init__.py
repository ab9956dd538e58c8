"""LeRobot data sets: written and read with pyarrow and PyAV, without torch."""
