"""Players: who may play, under which partner, and what the room owes them."""
