"""Progressive jackpots: what is paid into them."""
