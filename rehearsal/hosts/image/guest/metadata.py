"""A host's side of the metadata server."""

from __future__ import annotations

import http.client
import json
import time

ADDRESS = "169.254.169.254"
ROOT = "/computeMetadata/v1/"
LONGEST_WAIT = 60.0
"""Seconds after which a wait for a change is asked anew, so that a server that vanished is noticed."""

Tree = dict[str, object]


class MetadataRefused(OSError):
    """The metadata server answered with an error."""


def call(method: str, path: str, body: bytes | None = None, timeout: float = 10) -> tuple[bytes, str]:
    """The answer's body and ETag for `path` below computeMetadata/v1/. Raises OSError."""
    connection = http.client.HTTPConnection(ADDRESS, timeout=timeout)
    try:
        connection.request(method, ROOT + path, body=body, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise MetadataRefused(f"{method} {path}: {answer.status} {answer.reason}")
        return content, answer.headers.get("ETag", "")
    except http.client.HTTPException as error:
        raise MetadataRefused(f"{method} {path}: {error!r}") from error
    finally:
        connection.close()


def get_tree(etag: str | None = None, wait: float = LONGEST_WAIT) -> tuple[Tree, str]:
    """The whole tree and its ETag; with an `etag`, waits up to `wait` seconds for it to differ."""
    query = "?recursive=true&alt=json"
    if etag is not None:
        query += f"&wait_for_change=true&last_etag={etag}&timeout_sec={max(1, int(wait))}"
    content, etag = call("GET", query, timeout=wait + 10)
    return json.loads(content), etag


def wait_for_tree() -> tuple[Tree, str]:
    """The tree, as soon as the metadata server answers."""
    told = False
    while True:
        try:
            return get_tree()
        except (OSError, ValueError) as error:
            if not told:
                print(f"the metadata server does not answer yet: {error}", flush=True)
                told = True
            time.sleep(0.5)


def attributes_of(tree: Tree, part: str) -> Tree:
    """The attributes of `part` (instance or project); {} when it has none."""
    branch = tree.get(part)
    attributes = branch.get("attributes") if isinstance(branch, dict) else None
    return attributes if isinstance(attributes, dict) else {}


def is_true(tree: Tree, attribute: str) -> bool:
    """Whether the instance's attribute, or where it has none the project's, says TRUE."""
    value = attributes_of(tree, "instance").get(attribute, attributes_of(tree, "project").get(attribute, ""))
    return str(value).lower() in ("true", "1", "y", "yes")
