"""Batches on a Ray cluster: workers train, and a batch whose worker dies is tried again."""

import contextlib
import logging
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.machine import readable
from monmdp.study.executors import Deliver, Executor, Outcome, Watch, train_group
from monmdp.study.sweep import Batch

#: How often a batch is tried again when its worker dies.
RETRIES = 5
#: Seconds to wait for an answer from the cluster's address.
TIMEOUT = 20


def train_remotely(batch: Batch) -> tuple[Any, ...]:
    """Train a batch on a worker; returns the finished seeds and the other fields of its outcome."""
    copy = Batch(batch.job, batch.seeds)  # arrays that Ray passes cannot be written
    (outcome,) = train_group([copy], np.zeros(1, np.int64))
    return outcome.batch.seeds, *outcome[1:]


class RayCluster(Executor):
    """A running cluster, by its address, or one on this machine for the time of the sweep."""

    def __init__(self, address: str | None = None) -> None:
        host, _, port = (address or "localhost:0").rpartition(":")
        if not host or not (port.isascii() and port.isdigit()):
            raise MonMDPError(f"A Ray address is written as host:port, not {address!r}.")
        try:
            import ray
        except ImportError:
            raise MonMDPError("Ray is not installed; install it with: pip install 'monmdp[ray]'") from None
        if address is not None:
            _check_reachable(address)
        self._ray: Any = ray
        self._address = address
        self.state = "starting Ray" if address is None else f"joining Ray at {address}"

    def train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        """Submit twice as many batches as there are cores, so that no core waits; leave the cluster at the end."""
        with _on_localhost() if self._address is None else contextlib.nullcontext():
            self._train(batches, deliver, watch)

    def _train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        ray, running = self._ray, dict[Any, Batch]()
        try:
            self._join(max(batches, key=lambda batch: batch.memory))
            self.state = "Ray trains the first runs"
            remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(train_remotely)
            waiting, has_gpus = deque(batches), ray.cluster_resources().get("GPU", 0) >= 1
            while waiting or running:
                in_flight = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
                while waiting and len(running) < in_flight:
                    batch = waiting.popleft()
                    needs = {"memory": batch.memory, "num_gpus": int(has_gpus and batch.job.uses_accelerator)}
                    running[remote.options(**needs).remote(batch)] = batch
                ready, _ = ray.wait(list(running), num_returns=1, timeout=0.5)
                for reference in ready:
                    deliver(self._outcome(reference, running.pop(reference)))
                watch()
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            ray.shutdown()

    def _join(self, largest: Batch) -> None:
        """Join the cluster, and check that the largest batch fits into the memory of a node."""
        ray = self._ray
        try:
            # "local" starts a cluster of its own; None would join any that happens to run on this machine
            where = self._address or "local"
            ray.init(address=where, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            first = str(error).splitlines()[0]
            raise MonMDPError(f"The Ray cluster at {self._address or 'this machine'} cannot be used: {first}") from None
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        room = max((resources.get("memory", 0) for resources in nodes), default=0)
        if largest.memory > room:
            raise MonMDPError(
                f"{largest} needs {readable(largest.memory)} of memory, and no node of the Ray cluster has more than "
                f"{readable(room)}."
            )

    def _outcome(self, reference: Any, batch: Batch) -> Outcome:
        try:
            seeds, finished, failures, seconds = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            failure = f"{batch}, seeds {batch.seeds}: {str(error).splitlines()[0]}"
            seeds, finished, failures, seconds = (), [], [failure], 0.0
        batch.progress[:, 0] = batch.job.steps
        return Outcome(Batch(batch.job, seeds), finished, failures, seconds)


@contextlib.contextmanager
def _on_localhost() -> Iterator[None]:
    """Let a cluster that Ray starts meanwhile listen only on 127.0.0.1, as where Ray has no clusters of machines.

    Otherwise all its processes listen on all interfaces, and anyone who can connect to a port can run code.
    """
    from ray._private import ray_constants

    name = ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR
    before = os.environ.get(name), ray_constants.ENABLE_RAY_CLUSTER
    os.environ[name], ray_constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before[1]
        os.environ.pop(name)
        if before[0] is not None:
            os.environ[name] = before[0]


def _check_reachable(address: str) -> None:
    """Raise an error within seconds if no cluster answers; Ray itself would wait for minutes."""
    check = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        healthy = subprocess.run(check, capture_output=True, timeout=TIMEOUT, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        healthy = False
    if not healthy:
        raise MonMDPError(f"No healthy Ray cluster answers at {address}.")
