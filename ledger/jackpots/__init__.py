"""Progressive jackpots: what is paid into them, and what becomes of their hits."""
