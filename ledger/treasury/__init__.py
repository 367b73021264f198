"""The treasury: what reaches the client-funds account, what leaves it, and whether it covers."""
