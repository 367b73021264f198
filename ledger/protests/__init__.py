"""Protests: until when a transaction may be protested. Source: K 6.1, G, L."""
