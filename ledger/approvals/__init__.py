"""Approvals: what needs two people, and what became of it."""
