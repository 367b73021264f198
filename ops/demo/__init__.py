"""A card room's day through the real API, and what its auditor sees in the evening."""
