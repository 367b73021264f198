"""Answers derived from the journal: rebuilt from its events at any time, owned by nobody."""
