"""What both sides of a session have received: which bytes to send again after a reconnect, and when to send an ACK."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from tpuwright.iap.frames import ACK_AFTER


class ProtocolError(Exception):
    """The relay said something impossible."""


class Session:
    """The byte accounts of one tunnel, over any number of websockets. No input or output here."""

    def __init__(self) -> None:
        """A session that is not connected yet."""
        self.sid: bytes | None = None
        self.received = 0
        self.outstanding = 0
        self._acknowledged = 0
        self._confirmed = 0
        self._unconfirmed: deque[bytes] = deque()

    def sending(self, payload: bytes) -> None:
        """Remember ``payload`` until it is confirmed; call this before it is sent, as its ACK may be quick."""
        self._unconfirmed.append(payload)
        self.outstanding += len(payload)

    def confirmed(self, total: int) -> None:
        """The relay has ``total`` bytes in all; raises ``ProtocolError`` if that cannot be."""
        step = total - self._confirmed
        if not 0 <= step <= self.outstanding:
            raise ProtocolError(f"it confirmed {total} bytes of {self._confirmed + self.outstanding} that were sent")
        self._confirmed = total
        self.outstanding -= step
        while step:
            first = self._unconfirmed.popleft()
            if len(first) > step:
                self._unconfirmed.appendleft(first[step:])
            step -= min(step, len(first))

    def unconfirmed(self) -> Iterator[bytes]:
        """The payloads to send again on a new websocket, in order."""
        return iter(tuple(self._unconfirmed))

    def ack_due(self, arrived: int) -> int | None:
        """Count ``arrived`` bytes; the total to acknowledge when it is time for an ACK."""
        self.received += arrived
        if self.received - self._acknowledged <= ACK_AFTER:
            return None
        self._acknowledged = self.received
        return self.received
