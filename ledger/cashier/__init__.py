"""The cashier: money in, money out, and what providers take back."""
