"""What ``/metrics`` shows of one API process."""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client import multiprocess as shared
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the duration histogram in seconds."""


ALARMING: Final = ("database-unavailable", "internal-error", "queue-full")
"""Problems that are counted from nought: of a series that begins with its first one, Prometheus
sees no increase."""


class Gauge(NamedTuple):
    """A value that is looked up when somebody asks for it."""

    name: str
    help: str
    value: float
    labels: Mapping[str, str] = {}
    counts: bool = False
    """Whether it only ever grows; it is then exposed as a counter, as ``name`` and ``_total``."""


class _AtScrape(Collector):
    def __init__(self, gauges: Callable[[], Iterable[Gauge]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
        for gauge in self._gauges():
            family = families.get(gauge.name)
            if family is None:
                kind = CounterMetricFamily if gauge.counts else GaugeMetricFamily
                family = kind(gauge.name, gauge.help, labels=list(gauge.labels))
                families[gauge.name] = family
            family.add_metric(list(gauge.labels.values()), gauge.value)
        return families.values()

    def describe(self) -> Iterable[Metric]:
        # Said to be empty so that registering does not ask the database.
        return ()


class Metrics:
    """Counters of the API's processes, and the gauges that are looked up at a scrape.

    Several processes share one port, and a scrape meets any of them: when
    ``PROMETHEUS_MULTIPROC_DIR`` names a folder, which is emptied before the first of them starts,
    they count together.
    """

    def __init__(self, gauges: Callable[[], Iterable[Gauge]]) -> None:
        self._registry = CollectorRegistry()
        self._at_scrape = CollectorRegistry()
        self._at_scrape.register(_AtScrape(gauges))
        self._shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        self.requests = Counter(
            "cardroom_requests",
            "HTTP requests by route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.duration = Histogram(
            "cardroom_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self.hands = Counter(
            "cardroom_hands",
            "Posted hands by what became of them.",
            ["status"],
            registry=self._registry,
        )
        self.refusals = Counter(
            "cardroom_refusals",
            "Problems that were answered, by code: of requests, and of each hand of a batch.",
            ["code"],
            registry=self._registry,
        )
        for code in ALARMING:
            self.refusals.labels(code)
        self.commits = Histogram(
            "cardroom_commit_seconds",
            "Time from queueing commands to their outcome: waiting, deciding, appending.",
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._request_children: dict[tuple[str, str, int], Counter] = {}
        self._hand_children: dict[str, Counter] = {}
        self._duration_children: dict[str, Histogram] = {}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request. ``route`` is a path template, never a path."""
        # labels() costs more than counting does: its children are remembered.
        key = (method, route, status)
        counter = self._request_children.get(key)
        if counter is None:
            counter = self._request_children[key] = self.requests.labels(method, route, str(status))
            self._duration_children.setdefault(route, self.duration.labels(route))
        counter.inc()
        self._duration_children[route].observe(seconds)

    def count_refusals(self, codes: Iterable[str]) -> None:
        """Count problems that were answered."""
        for code in codes:
            self.refusals.labels(code).inc()

    def count_hands(self, statuses: Iterable[str]) -> None:
        """Count posted hands by what became of them."""
        for status in statuses:
            counter = self._hand_children.get(status)
            if counter is None:
                counter = self._hand_children[status] = self.hands.labels(status)
            counter.inc()

    def exposition(self) -> bytes:
        """Write everything in the Prometheus text format."""
        counted = self._registry
        if self._shared:
            counted = CollectorRegistry()
            shared.MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        return generate_latest(counted) + generate_latest(self._at_scrape)
