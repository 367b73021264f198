"""Who speaks with the ledger during the day: one client per token."""

from types import TracebackType
from typing import Any, Final, Self

from ops.client import Answer, Client
from ops.serving import Serving

PARTNERS: Final = ("northgate", "kestrel", "harbour")

WARRANTIES: Final = {
    "over_18": True,
    "full_legal_capacity": True,
    "not_citizen_of_mt": True,
    "lawful_jurisdiction": True,
    "not_employed_by_room": True,
}


class Desks:
    """The room's desks and its partners', each with its own rights."""

    def __init__(self, serving: Serving) -> None:
        self.base_url = serving.base_url

        def desk(role: str) -> Client:
            return Client(serving.base_url, serving.token(role), name=role)

        self.cashier = desk("cashier")
        self.floor = desk("game-server")
        self.compliance = desk("compliance")
        self.approver = desk("approver")
        self.support = desk("support")
        self.auditor = desk("auditor")
        self.operator = desk("operator")
        self.operator_as_approver = Client(
            serving.base_url, serving.token("approver", subject="operator"), name="two-hats"
        )
        self.partners = {
            partner: Client(
                serving.base_url, serving.token("partner", partner=partner), name=partner
            )
            for partner in PARTNERS
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        named = (self.cashier, self.floor, self.compliance, self.approver, self.support)
        house = (*named, self.auditor, self.operator, self.operator_as_approver)
        for client in (*house, *self.partners.values()):
            client.close()

    def as_stranger(self, token: str | None, path: str) -> Answer:
        """Post something with a token that is not the issuer's, or with none."""
        client = Client(self.base_url, token, name="stranger")
        try:
            return client.try_post(path, {})
        finally:
            client.close()

    def register(self, partner: str, nickname: str, person: str, **other: Any) -> dict[str, Any]:
        """Return the fields that register a player."""
        fields = {
            "partner": partner,
            "nickname": nickname,
            "identity_reference": person,
            "warranties": WARRANTIES,
        }
        return {**fields, **other}
