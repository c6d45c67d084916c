"""Counts and times of requests, in the text format of Prometheus."""

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping

from graphgate.compute.machine import resident_bytes

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"))
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Requests by path, method and status, and their durations by path.

    paths : paths that are counted separately; any other path a client requests counts as "other".
    """

    def __init__(self, paths: frozenset[str]) -> None:
        self._paths = paths
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()
        self.in_flight = 0
        self.searches = 0
        self.queries = 0

    def count(self, path: str, method: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        path = path if path in self._paths else "other"
        method = method if method in _METHODS else "other"
        with self._lock:
            self._requests[path, method, status] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]
            self._buckets[path][bisect_left(_BOUNDS, seconds)] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """All metrics; gauges : further numbers by name."""
        with self._lock:
            lines = ["# TYPE graphgate_requests_total counter"]
            lines += [
                f'graphgate_requests_total{{path="{path}",method="{method}",status="{status}"}} {n}'
                for (path, method, status), n in sorted(self._requests.items())
            ]
            lines.append("# TYPE graphgate_request_seconds histogram")
            for path, buckets in sorted(self._buckets.items()):
                lines += _histogram(path, buckets, self._seconds[path])
        numbers = {
            "graphgate_in_flight": self.in_flight,
            "graphgate_searches_total": self.searches,
            "graphgate_search_queries_total": self.queries,
            "process_resident_memory_bytes": resident_bytes(),
            **gauges,
        }
        for name, value in numbers.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"


def _histogram(path: str, buckets: list[int], seconds: float) -> list[str]:
    name, total, lines = "graphgate_request_seconds", 0, []
    for bound, n in zip([*map(str, _BOUNDS), "+Inf"], buckets, strict=True):
        total += n
        lines.append(f'{name}_bucket{{path="{path}",le="{bound}"}} {total}')
    lines.append(f'{name}_sum{{path="{path}"}} {seconds:.6f}')
    lines.append(f'{name}_count{{path="{path}"}} {total}')
    return lines
