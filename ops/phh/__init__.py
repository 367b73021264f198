"""Hands in Poker Hand History (PHH, .phh and .phhs), written as the hands of this project.

PHH is the format of PokerKit and of the public hand collections made with it: TOML, amounts as
totals raised to, no rounds, no pots, and the result as one number for each player.
"""
