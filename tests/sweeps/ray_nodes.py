"""A real Ray cluster for the tests: a head without cores and two workers of one core each, on this machine.

Prints the address. Reads commands from stdin: "kill" kills a worker node and prints "killed"; the end of
stdin ends the cluster, also when the test that started it was killed.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster

MEGABYTE = 2**20
#: A dead node is noticed within seconds rather than half a minute.
NOTICE = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}


def main() -> None:
    shared = {"include_dashboard": False, "object_store_memory": 80 * MEGABYTE}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": NOTICE, **shared})
    workers = [cluster.add_node(num_cpus=1, memory=500 * MEGABYTE, wait=False, **shared) for _ in range(2)]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    try:
        for line in sys.stdin:
            if line.strip() == "kill":
                cluster.remove_node(workers.pop(), allow_graceful=False)
                print("killed", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
