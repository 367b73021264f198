"""How fast the ledger books hands, beside what the same PostgreSQL can do without it.

Everything is measured against a ``cardroom serve`` of its own on a temporary data folder, over
HTTP, with fsync on. All load goes to 127.0.0.1, and everything that is started is stopped.
"""
