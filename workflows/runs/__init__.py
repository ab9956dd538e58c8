"""Runs of many episodes: making, resuming, stopping, merging and evaluating."""
