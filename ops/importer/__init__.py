"""Books real hand histories, with everything that they imply: players, tables, chips, deposits."""
