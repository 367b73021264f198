"""What holds for every route, whatever it answers."""

from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant

from api.app import ROUTERS
from api.edge import LedgerRoute

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, LedgerRoute)]


def calls(dependant: Dependant) -> Iterator[Any]:
    """Give what is called before the route itself."""
    for needed in dependant.dependencies:
        yield needed.call
        yield from calls(needed)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.methods} {route.path}")
def test_nothing_is_run_in_a_thread_before_the_route_itself(route: LedgerRoute) -> None:
    # Each thread that is changed to waits for the interpreter while hands are posted.
    assert [
        call
        for call in calls(route.dependant)
        if not (iscoroutinefunction(call) or iscoroutinefunction(type(call).__call__))
    ] == []
