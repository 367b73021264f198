"""Answers derived from the journal: rebuilt from its events at any time, owned by nobody."""

import ledger  # noqa: F401  It lets compiled modules be found, those of this package among them.
