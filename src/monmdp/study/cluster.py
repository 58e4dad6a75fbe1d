"""Batches on a Ray cluster: workers train, this process saves, a batch whose worker dies is tried again."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from monmdp.errors import MonMDPError
from monmdp.machine import readable
from monmdp.study.plan import Batch
from monmdp.study.runner import Control, Outcome, Report, Watcher, keep, run_batch

if TYPE_CHECKING:
    from monmdp.study.store import Store

#: How often a batch is tried when workers die under it.
RETRIES = 5
#: Seconds to wait for an answer from the cluster's address.
PATIENCE = 20


def train_remotely(batch: Batch) -> Outcome:
    """What a worker does."""
    return run_batch(batch, Control())


class RayCluster:
    """A running cluster, by its address, or one on this machine for the time of the sweep."""

    def __init__(self, address: str | None = None) -> None:
        place = None if address is None else _host_and_port(address)
        try:
            import ray
        except ImportError:
            raise MonMDPError("Ray is not installed; install it with: pip install 'monmdp[ray]'") from None
        if place is not None:
            _check_reachable(*place)
        self._ray, self._address = ray, address

    def _connect(self, left: list[Batch]) -> None:
        """Join the cluster, and see that every batch fits somewhere."""
        ray: Any = self._ray
        try:
            # "local" starts a cluster of its own; None would join any that happens to run on this machine
            where = self._address or "local"
            ray.init(address=where, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            first = str(error).splitlines()[0]
            raise MonMDPError(f"The Ray cluster at {self._address or 'this machine'} cannot be used: {first}") from None
        able = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        room = max((resources.get("memory", 0) for resources in able), default=0)
        largest = max(left, key=lambda batch: batch.memory)
        if largest.memory > room:
            ray.shutdown()
            raise MonMDPError(
                f"{largest.cell} needs {readable(largest.memory)} of memory, and no node of the Ray cluster has more "
                f"than {readable(room)}."
            )

    def run(self, store: Store, report: Report, left: list[Batch], watcher: Watcher | None) -> None:
        """Longest batches first; a few more are in flight than there are cores, so that none waits."""
        self._connect(left)
        ray: Any = self._ray
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(train_remotely)
        waiting = list(left)
        running: dict[Any, Batch] = {}
        try:
            while waiting or running:
                flights = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
                while waiting and len(running) < flights:
                    batch = waiting.pop(0)
                    running[remote.options(memory=batch.memory).remote(batch)] = batch
                ready, _ = ray.wait(list(running), num_returns=1, timeout=0.5)
                for reference in ready:
                    batch = running.pop(reference)
                    try:
                        keep(store, report, ray.get(reference))
                    except ray.exceptions.RayError as error:
                        report.failures.append(f"{batch.cell}, seeds {batch.seeds}: {str(error).splitlines()[0]}")
                if watcher is not None:
                    watcher(report, 0)
        except KeyboardInterrupt:
            for reference in running:
                ray.cancel(reference, force=True)
            raise
        finally:
            ray.shutdown()


def _host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise MonMDPError(f"A Ray address is written as host:port, not {address!r}.")
    return host, int(port)


def _check_reachable(host: str, port: int) -> None:
    """Ray itself waits for minutes; a knock at the door and Ray's own health check tell within seconds."""
    address = f"{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=PATIENCE).close()
    except OSError as error:
        raise MonMDPError(f"No Ray cluster answers at {address}: {error.strerror or error}.") from None
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        healthy = subprocess.run(check, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        healthy = False
    if not healthy:
        raise MonMDPError(f"Whoever answers at {address} is not a healthy Ray cluster.")
