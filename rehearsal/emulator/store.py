"""State in SQLite: documents by full resource name, addresses, guest attributes and settings.

One connection, used from the event loop's thread only: a statement takes microseconds, so nothing here
is awaited, and a handler that does not await between reading and writing cannot be interrupted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rehearsal.emulator.handlers import Json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, sequence INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_by_kind ON documents (kind, name);
CREATE TABLE IF NOT EXISTS addresses (
    subnetwork TEXT NOT NULL, ip TEXT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (subnetwork, ip)
);
CREATE INDEX IF NOT EXISTS addresses_by_holder ON addresses (holder);
CREATE TABLE IF NOT EXISTS guest_attributes (
    host TEXT NOT NULL, namespace TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (host, namespace, key)
);
CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


Documents = list[tuple[str, Json]]
Pairs = list[tuple[str, str]]
Triples = list[tuple[str, str, str]]


class NameTaken(Exception):
    """A document of this name exists already."""


class Store:
    """Documents are JSON objects named by full resource name, without a leading slash or API root.

    Examples of names: "projects/P/global/networks/N", "projects/P/locations/Z/nodes/pod". `kind` is
    "service.singular", such as "compute.network" or "tpu.node".
    """

    def __init__(self, file: Path | str) -> None:
        """`file`: the database's path, or ":memory:"."""
        self._db = sqlite3.connect(str(file), isolation_level=None, check_same_thread=False)
        # WAL with NORMAL survives the death of this process; only a power cut could lose the last commit.
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(_SCHEMA)
        self._depth = 0

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens or nothing does. Never await inside. May be nested."""
        if self._depth == 0:
            self._db.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        except BaseException:
            self._depth -= 1
            if self._depth == 0:
                self._db.execute("ROLLBACK")
            raise
        self._depth -= 1
        if self._depth == 0:
            self._db.execute("COMMIT")

    def get(self, name: str) -> Json | None:
        """A copy of the document, or None."""
        row = self._db.execute("SELECT body FROM documents WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def kind_of(self, name: str) -> str | None:
        row = self._db.execute("SELECT kind FROM documents WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def insert(self, kind: str, name: str, body: Json) -> None:
        """Add a document. Raises NameTaken."""
        try:
            self._db.execute(
                "INSERT INTO documents VALUES (?, ?, ?, (SELECT coalesce(max(sequence), 0) + 1 FROM documents))",
                (name, kind, json.dumps(body)),
            )
        except sqlite3.IntegrityError:
            raise NameTaken(name) from None

    def put(self, kind: str, name: str, body: Json) -> None:
        """Add or replace a document."""
        changed = self._db.execute(
            "UPDATE documents SET body = ?, kind = ? WHERE name = ?", (json.dumps(body), kind, name)
        )
        if changed.rowcount == 0:
            self.insert(kind, name, body)

    def update(self, name: str, **fields: object) -> Json | None:
        """Set top-level fields of a document (None removes one). Returns it, or None when it is gone."""
        body = self.get(name)
        if body is None:
            return None
        body.update(fields)
        body = {key: value for key, value in body.items() if not (key in fields and value is None)}
        self._db.execute("UPDATE documents SET body = ? WHERE name = ?", (json.dumps(body), name))
        return body

    def delete(self, name: str) -> bool:
        """Remove a document; False when there was none."""
        return self._db.execute("DELETE FROM documents WHERE name = ?", (name,)).rowcount > 0

    def list(self, kind: str, under: str = "") -> Documents:
        """(name, document) of a kind whose names start with `under`, in order of name.

        End `under` with a slash: "projects/P/locations/Z/".
        """
        rows = self._db.execute(
            "SELECT name, body FROM documents WHERE kind = ? AND substr(name, 1, ?) = ? ORDER BY name",
            (kind, len(under), under),
        )
        return [(name, json.loads(body)) for name, body in rows]

    def count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM documents").fetchone()[0])

    # Addresses (see addresses.py, which holds the rules)

    def addresses(self, subnetwork: str) -> dict[str, str]:
        """Holder by address."""
        rows = self._db.execute("SELECT ip, holder FROM addresses WHERE subnetwork = ?", (subnetwork,))
        return {ip: holder for ip, holder in rows}

    def add_address(self, subnetwork: str, ip: str, holder: str) -> None:
        """Raises NameTaken when the address is held."""
        try:
            self._db.execute("INSERT INTO addresses VALUES (?, ?, ?)", (subnetwork, ip, holder))
        except sqlite3.IntegrityError:
            raise NameTaken(ip) from None

    def drop_addresses(self, holder: str) -> None:
        self._db.execute("DELETE FROM addresses WHERE holder = ?", (holder,))

    def held_by(self, holder: str) -> Pairs:
        """(subnetwork, ip) of a holder."""
        rows = self._db.execute("SELECT subnetwork, ip FROM addresses WHERE holder = ?", (holder,))
        return [(subnetwork, ip) for subnetwork, ip in rows]

    def holder_of(self, ip: str) -> str | None:
        """Who holds an address, in whatever subnetwork."""
        row = self._db.execute("SELECT holder FROM addresses WHERE ip = ?", (ip,)).fetchone()
        return None if row is None else str(row[0])

    # Guest attributes, by host key (HostSpec.key)

    def put_guest_attribute(self, host: str, namespace: str, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO guest_attributes VALUES (?, ?, ?, ?)", (host, namespace, key, value))

    def guest_attributes(self, host: str) -> Triples:
        """(namespace, key, value) of a host, in order."""
        rows = self._db.execute(
            "SELECT namespace, key, value FROM guest_attributes WHERE host = ? ORDER BY namespace, key", (host,)
        )
        return [(namespace, key, value) for namespace, key, value in rows]

    def drop_guest_attributes(self, host: str) -> None:
        self._db.execute("DELETE FROM guest_attributes WHERE host = ?", (host,))

    # Facts of the emulator itself: settings, project, token hash

    def fact(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_fact(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, value))

    def wipe(self) -> None:
        """Forget every document, address and guest attribute; facts stay."""
        with self.transaction():
            for table in ("documents", "addresses", "guest_attributes"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - the names stand above
