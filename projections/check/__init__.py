"""Proving the books: everything that must hold, looked at again from the first event on.

Nothing that is kept is believed. The journal's bytes are hashed again, its events are folded again,
and what the projections hold is compared with that, row by row.
"""
