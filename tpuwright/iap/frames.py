"""Frames of the relay's subprotocol, version 4: a 16-bit tag, then what the tag says; all integers big-endian.

Source: gcloud's googlecloudsdk/api_lib/compute/iap_tunnel_websocket_utils.py.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

SUBPROTOCOL: Final = "relay.tunnel.cloudproxy.app"
#: The most bytes that one DATA frame may carry.
MAX_DATA: Final = 16384
#: More received bytes than these need an ACK.
ACK_AFTER: Final = 2 * MAX_DATA

_CONNECT_SUCCESS_SID: Final = 0x0001
_RECONNECT_SUCCESS_ACK: Final = 0x0002
_DATA: Final = 0x0004
_ACK: Final = 0x0007


class FrameError(ValueError):
    """A frame that is shorter than it says."""


@dataclass(frozen=True)
class ConnectSuccess:
    """The relay reached the port; ``sid`` names the session, for a reconnect."""

    sid: bytes


@dataclass(frozen=True)
class ReconnectSuccess:
    """The session goes on; the relay has received ``confirmed`` bytes in all."""

    confirmed: int


@dataclass(frozen=True)
class Data:
    """Bytes of the tunnelled connection."""

    payload: bytes


@dataclass(frozen=True)
class Ack:
    """The other side has received ``confirmed`` bytes in all."""

    confirmed: int


@dataclass(frozen=True)
class Unknown:
    """A tag that this version does not know; to be ignored."""

    tag: int


Frame = ConnectSuccess | ReconnectSuccess | Data | Ack | Unknown


def encode(frame: ConnectSuccess | ReconnectSuccess | Data | Ack) -> bytes:
    """The bytes of one frame (one binary websocket message)."""
    match frame:
        case Data(payload):
            return struct.pack(">HI", _DATA, len(payload)) + payload
        case Ack(confirmed):
            return struct.pack(">HQ", _ACK, confirmed)
        case ConnectSuccess(sid):
            return struct.pack(">HI", _CONNECT_SUCCESS_SID, len(sid)) + sid
        case ReconnectSuccess(confirmed):
            return struct.pack(">HQ", _RECONNECT_SUCCESS_ACK, confirmed)


def decode(message: bytes) -> Frame:
    """The frame in one websocket message; bytes behind it are ignored, as gcloud does. Raises ``FrameError``."""
    try:
        (tag,) = struct.unpack_from(">H", message)
        if tag in (_ACK, _RECONNECT_SUCCESS_ACK):
            (confirmed,) = struct.unpack_from(">Q", message, 2)
            return Ack(confirmed) if tag == _ACK else ReconnectSuccess(confirmed)
        if tag not in (_DATA, _CONNECT_SUCCESS_SID):
            return Unknown(tag)
        (length,) = struct.unpack_from(">I", message, 2)
    except struct.error as error:
        raise FrameError(f"a frame of {len(message)} bytes is too short") from error
    payload = message[6 : 6 + length]
    if len(payload) < length:
        raise FrameError(f"a frame announces {length} bytes and carries {len(payload)}")
    return Data(payload) if tag == _DATA else ConnectSuccess(payload)
