"""PokerKit as the oracle: it plays random hands, and the judge must settle them as it does."""
