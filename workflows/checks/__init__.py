"""Checks of data sets: what each record must state by the configuration, identities of its arrays, replays."""
