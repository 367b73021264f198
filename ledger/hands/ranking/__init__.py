"""The rankings of hands: the ordinary one, those of single games, and which game has which."""
