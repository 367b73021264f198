"""Mutants of right hands: none that breaks a rule may be found right, and none may break the judge.

``opinion`` is a second judge that shares nothing with the first: it reads a post by itself, works
its money out by itself, and has PokerKit say who acts, for how much, and whose hand is best.
"""
