"""The money and compliance book of an online card room: its facts and the rules that allow them."""

from ledger import compiled

compiled.use()
