"""`python3 -m guest watch` follows the metadata while the host runs; `startup-script` runs this boot's script."""

from __future__ import annotations

import datetime
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from . import accounts, metadata


def watch() -> None:
    """Follow the metadata for ever: host name, users, host keys."""
    published: dict[str, str] = {}
    tree, etag = metadata.wait_for_tree()
    set_host_name(tree)
    while True:
        now = datetime.datetime.now().astimezone()
        wait = metadata.LONGEST_WAIT
        try:
            accounts.apply(accounts.desired_keys(tree, now))
            publish_host_keys(tree, published)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"tried again soon: {error}", flush=True)
            wait = 2
        notify("READY=1")
        expiry = accounts.next_expiry(tree, now)
        if expiry is not None:
            wait = min(wait, (expiry - now).total_seconds() + 1)
        try:
            tree, etag = metadata.get_tree(etag, wait)
        except (OSError, ValueError):
            tree, etag = metadata.wait_for_tree()


def set_host_name(tree: metadata.Tree) -> None:
    """The short form of instance/hostname."""
    instance = tree.get("instance")
    name = str(instance.get("hostname", "")) if isinstance(instance, dict) else ""
    short = name.partition(".")[0]
    if short and short != socket.gethostname():
        socket.sethostname(short)
        print(f"host name is {short}", flush=True)


def publish_host_keys(tree: metadata.Tree, published: dict[str, str]) -> None:
    """Each public host key as guest attribute hostkeys/TYPE, where guest attributes are enabled."""
    if not metadata.is_true(tree, "enable-guest-attributes"):
        published.clear()
        return
    for path in sorted(Path("/etc/ssh").glob("ssh_host_*_key.pub")):
        kind, key = path.read_text().split()[:2]
        if published.get(kind) != key:
            metadata.call("PUT", f"instance/guest-attributes/hostkeys/{kind}", key.encode())
            published[kind] = key


def run_startup_script() -> int:
    """Run instance (else project) attribute startup-script as root; its output goes where ours goes."""
    tree, _ = metadata.wait_for_tree()
    script = ""
    for part in ("instance", "project"):
        script = script or str(metadata.attributes_of(tree, part).get("startup-script", ""))
    if not script:
        return 0
    with tempfile.TemporaryDirectory(prefix="startup-") as directory:
        path = Path(directory) / "startup-script"
        path.write_text(script)
        path.chmod(stat.S_IRWXU)
        try:
            status = subprocess.run([path], check=False).returncode
        except OSError:
            # No "#!": a shell would run it as well.
            status = subprocess.run(["/bin/sh", path], check=False).returncode
    print(f"startup-script exit status {status}", flush=True)
    return status


def notify(state: str) -> None:
    """Tell systemd."""
    address = os.environ.get("NOTIFY_SOCKET")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect("\0" + address[1:] if address.startswith("@") else address)
            channel.send(state.encode())


if __name__ == "__main__":
    if sys.argv[1:] == ["startup-script"]:
        sys.exit(run_startup_script())
    elif sys.argv[1:] == ["watch"]:
        watch()
    else:
        sys.exit("usage: python3 -m guest watch | startup-script")
