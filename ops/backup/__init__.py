"""``cardroom backup`` and ``cardroom restore``: base backups, the archived log, and back again."""
