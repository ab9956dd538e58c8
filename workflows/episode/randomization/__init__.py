"""Randomization of one episode."""
