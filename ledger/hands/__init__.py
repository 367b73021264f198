"""Hands: what was played, what it moved, and how it is judged."""
