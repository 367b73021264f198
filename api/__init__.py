"""The edge: HTTP under ``/v1``, who is calling, what time it is, and how refusals are told."""
