"""A card room that exists only in memory: it plays complete legal hands and writes them down.

Hands are played by the rules of the rulebook ``entraction`` and written as Open Hand History, as
a game server would post them. What a hand pays is worked out here and not by the ledger's own
rules: demonstrations and tests compare the two. Everything follows from a random generator that
the caller passes in.
"""
