"""Ray is not installed, or no cluster answers: one sentence within seconds."""

from __future__ import annotations

import socket
import sys
from importlib.util import find_spec

import pytest
from sweeping import TINY_WORDS, end, error_of, file_bytes, start

import monmdp
from monmdp.study.ray_cluster import RayCluster

with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra")


def test_ray_is_not_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    for on in ("ray", "ray:127.0.0.1:6379"):
        message = error_of(capsys, "reproduce", *TINY_WORDS, "--out", str(tmp_path / "r"), "--on", on)
        assert "pip install 'monmdp[ray]'" in message
    assert not (tmp_path / "r").exists()


#: The command with less patience: Ray's own check would take the 20 seconds that it has.
IMPATIENT = """
import sys
from monmdp.cli import main
from monmdp.study import ray_cluster
ray_cluster.TIMEOUT = 4
sys.exit(main())
"""


@with_ray
def test_an_address_without_a_program(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound and not listening: no other program gets it, and none answers
        command = ("reproduce", *TINY_WORDS, "--out", str(tmp_path / "r"), "--on", f"ray:127.0.0.1:{port}")
        code, out, err = end(start(*command, script=IMPATIENT))
    assert (code, out) == (2, f"Joining ray:127.0.0.1:{port} …\n")
    assert err.count("\n") == 1
    assert f"No healthy Ray cluster answers at 127.0.0.1:{port}" in err
    assert not (tmp_path / "r").exists()


@with_ray
@pytest.mark.slow
def test_an_address_of_another_program(tmp_path):
    """Such as a web server. Ray itself would try for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        process = start("reproduce", *TINY_WORDS, "--out", str(tmp_path / "r"), "--on", f"ray:{address}")
        code, _, err = end(process, deadline=300)
    assert code == 2
    assert address in err
    assert "Traceback" not in err


@with_ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", ["localhost", ":6379", "localhost:", "localhost:port", "localhost:²"])
def test_invalid_addresses(address):
    with pytest.raises(monmdp.MonMDPError, match="host:port"):
        RayCluster(address)


#: Three sweeps; prints what each did, and the addresses on which processes of this family listened, as Linux has them.
SWEEPS = """
import os, sys, monmdp
from pathlib import Path
from monmdp.study.ray_cluster import RayCluster

def family(process):
    children = Path(f"/proc/{process}/task").glob("*/children")
    return [process, *(one for path in children for child in path.read_text().split() for one in family(child))]

def listen(report, steps):
    sockets = set()
    for process in family(str(os.getpid())):
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            try:
                sockets.add(os.readlink(f"/proc/{process}/fd/{descriptor}"))
            except OSError:
                pass
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                addresses.add(words[1].rpartition(":")[0])

addresses = set()
for seeds in (1, 1, 2):
    sweep = monmdp.Sweep(["Walk"], ["Full"], ["Naive"], seeds, steps=100, points=5)
    print(monmdp.run_sweep([sweep], sys.argv[1], executor=RayCluster(), watcher=listen).done)
    monmdp.run_sweep([sweep], sys.argv[2])
assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ
print(*addresses)
"""
LOCALHOST = {"0100007F", "0000000000000000FFFF00000100007F", "0" * 24 + "01000000"}


@with_ray
def test_one_sweep_after_the_other(tmp_path):
    """In a notebook: a sweep, the same again with nothing to do, and another one, with no port open to others."""
    folders = tmp_path / "ray", tmp_path / "here"
    code, out, err = end(start(*map(str, folders), script=SWEEPS))
    assert code == 0, err[-2000:]
    *done, addresses = out.splitlines()
    assert done == ["1", "0", "1"]
    assert set() < set(addresses.split()) <= LOCALHOST
    assert file_bytes(folders[0]) == file_bytes(folders[1])
