"""Reads whole task files of InternDataEngine and GenSim2, and writes them as tasks of Unlatch."""
