"""Cash tables: seats, chips, and the hands played at them."""
