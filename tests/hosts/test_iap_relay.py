import asyncio
import contextlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from rehearsal.emulator.iap import IapRelay, Target, Wanted
from tpuwright.iap.frames import MAX_DATA, SUBPROTOCOL, Ack, ConnectSuccess, Data, ReconnectSuccess, decode, encode

TOKEN = "ya29.right"


class Directory:
    """One instance, `bastion`, on this machine."""

    def __init__(self) -> None:
        self.open_ports: set[int] = set()
        self.asked: list[Wanted] = []

    def caller(self, token: str) -> str | None:
        return {TOKEN: "owner", "ya29.guest": "guest"}.get(token)

    def permitted(self, caller: str, _: Wanted) -> bool:
        return caller == "owner"

    def find(self, wanted: Wanted) -> Target | None:
        self.asked.append(wanted)
        if (wanted.project, wanted.zone, wanted.instance, wanted.interface) != ("p", "us-west4-a", "bastion", "nic0"):
            return None
        return Target("127.0.0.1", wanted.port in self.open_ports)


class Far:
    """What listens on the instance: echoes, says goodbye at `bye`, or floods at `flood N`."""

    def __init__(self) -> None:
        self.connections = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while content := await reader.read(65536):
                if content.startswith(b"flood "):
                    writer.write(b"x" * int(content.split()[1]))
                elif content == b"bye":
                    break
                else:
                    writer.write(content)
                await writer.drain()
        finally:
            self.connections -= 1
            writer.close()


@pytest.fixture
def directory() -> Directory:
    return Directory()


@pytest.fixture
def far(background, directory) -> Iterator[Far]:
    far = Far()
    server = background.run(asyncio.start_server(far.talk, "127.0.0.1", 0))
    far.port = server.sockets[0].getsockname()[1]
    directory.open_ports.add(far.port)
    yield far
    background.loop.call_soon_threadsafe(server.close)


@pytest.fixture
def url(background, directory, serve) -> Iterator[str]:
    relay = IapRelay(directory)
    yield f"ws://127.0.0.1:{serve(Starlette(routes=relay.routes))}/v4"
    background.run(relay.close())


def opened(url: str, path: str, token: str = TOKEN, **query: object):
    text = "&".join(f"{key}={value}" for key, value in query.items())
    return connect(
        f"{url}/{path}?{text}",
        subprotocols=[SUBPROTOCOL],
        additional_headers={"Authorization": f"Bearer {token}"},
        max_size=None,
        proxy=None,
    )


def to_bastion(url: str, port: int, token: str = TOKEN, **changed: object):
    query = {"project": "p", "zone": "us-west4-a", "instance": "bastion", "interface": "nic0", "port": port}
    return opened(url, "connect", token, **{**query, **changed}, newWebsocket=True)


async def read(socket, count: int) -> bytes:
    """The next `count` bytes of data; acks are left aside."""
    content = b""
    while len(content) < count:
        frame = decode(await asyncio.wait_for(socket.recv(), 10))
        if isinstance(frame, Data):
            content += frame.payload
    return content


async def close_code(socket) -> tuple[int, str]:
    try:
        while True:
            await asyncio.wait_for(socket.recv(), 10)
    except ConnectionClosed as closed:
        return closed.rcvd.code, closed.rcvd.reason


def test_bytes_come_back_and_are_acknowledged(url, far):
    async def talk() -> None:
        async with to_bastion(url, far.port) as socket:
            assert socket.subprotocol == SUBPROTOCOL
            assert isinstance(decode(await socket.recv()), ConnectSuccess)
            sent = os.urandom(5 * MAX_DATA)
            for start in range(0, len(sent), MAX_DATA):
                await socket.send(encode(Data(sent[start : start + MAX_DATA])))
            content, acknowledged = b"", 0
            while len(content) < len(sent) or not acknowledged:
                match decode(await asyncio.wait_for(socket.recv(), 10)):
                    case Data(payload):
                        assert len(payload) <= MAX_DATA
                        content += payload
                    case Ack(confirmed):
                        acknowledged = confirmed
            assert content == sent
            assert 2 * MAX_DATA < acknowledged <= len(sent)

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"token": "ya29.guest"}, (4033, "not authorized")),
        ({"instance": "nobody"}, (4047, "Failed to lookup instance")),
        ({"zone": "us-west4-b"}, (4047, "Failed to lookup instance")),
        ({"port": 1}, (4003, "failed to connect to backend")),
    ],
)
def test_a_refusal_has_google_s_close_code(url, far, changed, expected):
    async def refused() -> tuple[int, str]:
        async with to_bastion(url, **{"port": far.port, **changed}) as socket:
            return await close_code(socket)

    assert asyncio.run(refused()) == expected


def test_a_port_where_nothing_listens_fails_like_one_that_the_firewall_closes(url, directory, background):
    server = background.run(asyncio.start_server(lambda *_: None, "127.0.0.1", 0))
    port = server.sockets[0].getsockname()[1]
    background.loop.call_soon_threadsafe(server.close)
    directory.open_ports.add(port)

    async def refused() -> tuple[int, str]:
        async with to_bastion(url, port) as socket:
            return await close_code(socket)

    assert asyncio.run(refused()) == (4003, "failed to connect to backend")


@pytest.mark.parametrize(
    ("changed", "status"), [({"token": "ya29.wrong"}, 401), ({"port": "ssh"}, 400), ({"project": ""}, 400)]
)
def test_a_handshake_without_token_or_parameters_is_answered_with_an_http_status(url, far, changed, status):
    async def refused() -> int:
        with pytest.raises(InvalidStatus) as answer:
            async with to_bastion(url, **{"port": far.port, **changed}):
                pass
        return answer.value.response.status_code

    assert asyncio.run(refused()) == status


def test_a_session_goes_on_after_its_websocket_is_lost_without_a_byte_lost_or_twice(url, far):
    async def talk() -> None:
        async with to_bastion(url, far.port) as socket:
            sid = decode(await socket.recv()).sid.decode()
            await socket.send(encode(Data(b"one")))
            assert await read(socket, 3) == b"one"
            await socket.send(encode(Data(b"two")))
            assert await read(socket, 3) == b"two"
            socket.transport.abort()
        # The client says it got 3 bytes: "two" comes again.
        async with opened(url, "reconnect", sid=sid, ack=3, newWebsocket=True, zone="us-west4-a") as socket:
            assert decode(await socket.recv()) == ReconnectSuccess(6)
            assert await read(socket, 3) == b"two"
            await socket.send(encode(Data(b"three")))
            assert await read(socket, 5) == b"three"
            assert far.connections == 1

    asyncio.run(talk())


def test_a_client_that_comes_back_takes_the_session_from_a_websocket_that_still_seems_alive(url, far):
    async def talk() -> None:
        async with to_bastion(url, far.port) as stale:
            sid = decode(await stale.recv()).sid.decode()
            async with opened(url, "reconnect", sid=sid, ack=0, zone="us-west4-a") as socket:
                assert decode(await socket.recv()) == ReconnectSuccess(0)
                await socket.send(encode(Data(b"here")))
                assert await read(socket, 4) == b"here"
                assert (await close_code(stale))[0] == 1001

    asyncio.run(talk())


@pytest.mark.parametrize(("sid", "ack", "code"), [("nobody", 0, 4001), (None, 99, 4005), (None, "x", 4005)])
def test_a_reconnect_that_cannot_be_is_refused(url, far, sid, ack, code):
    async def refused() -> int:
        async with to_bastion(url, far.port) as first:
            own = decode(await first.recv()).sid.decode()
            async with opened(url, "reconnect", sid=sid or own, ack=ack, zone="us-west4-a") as socket:
                return (await close_code(socket))[0]

    assert asyncio.run(refused()) == code


def test_the_far_end_s_goodbye_comes_after_its_last_byte(url, far):
    async def talk() -> tuple[bytes, tuple[int, str]]:
        async with to_bastion(url, far.port) as socket:
            await socket.recv()
            await socket.send(encode(Data(b"flood 100000")))
            content = await read(socket, 100000)
            await socket.send(encode(Data(b"bye")))
            return content, await close_code(socket)

    content, closed = asyncio.run(talk())
    assert content == b"x" * 100000
    assert closed == (1000, "")


def test_a_client_that_does_not_acknowledge_is_not_sent_more_than_the_window(url, far):
    async def talk() -> int:
        async with to_bastion(url, far.port) as socket:
            await socket.recv()
            await socket.send(encode(Data(b"flood 8000000")))
            received = 0
            with contextlib.suppress(TimeoutError):
                while received < 8000000:
                    received += len(decode(await asyncio.wait_for(socket.recv(), 0.5)).payload)
            stalled = received
            await socket.send(encode(Ack(received)))
            while received < 8000000:
                received += len(decode(await asyncio.wait_for(socket.recv(), 5)).payload)
                await socket.send(encode(Ack(received)))
            return stalled

    assert asyncio.run(talk()) < 2 * 1024 * 1024


@pytest.mark.parametrize(
    "message", [b"", b"\x00\x04\x00\x00\x00\x09short", struct.pack(">HI", 4, 20000) + b"x" * 20000]
)
def test_a_frame_that_is_none_ends_the_session(url, far, message):
    async def talk() -> int:
        async with to_bastion(url, far.port) as socket:
            await socket.recv()
            await socket.send(message)
            return (await close_code(socket))[0]

    assert asyncio.run(talk()) == 4013


def test_a_client_that_closes_in_order_ends_the_connection_to_the_instance(url, far, until):
    async def talk() -> None:
        async with to_bastion(url, far.port) as socket:
            await socket.recv()
            await socket.send(encode(Data(b"x")))
            await read(socket, 1)
            assert far.connections == 1

    asyncio.run(talk())
    until(lambda: far.connections == 0, "the connection to the instance is closed")


@pytest.fixture
def certificate(tmp_path) -> tuple[Path, Path]:
    """A certificate for this machine and its key: gcloud's client works over TLS only."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


@pytest.fixture
def secure_url(background, directory, serve, certificate) -> Iterator[str]:
    relay = IapRelay(directory)
    port = serve(Starlette(routes=relay.routes), ssl_certfile=certificate[0], ssl_keyfile=certificate[1])
    yield f"wss://127.0.0.1:{port}/v4"
    background.run(relay.close())


@pytest.fixture
def gcloud(tmp_path, certificate):
    """Runs Google's own client against the relay."""
    program = shutil.which("gcloud")
    if program is None:
        pytest.skip("gcloud is not installed")
    token = tmp_path / "token"
    token.write_text(TOKEN)
    environment = {
        **os.environ,
        "CLOUDSDK_CONFIG": str(tmp_path / "config"),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": str(certificate[0]),
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "false",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
    }

    def run(url: str, port: int, **streams: object) -> subprocess.Popen[bytes]:
        command = [program, "compute", "start-iap-tunnel", "bastion", str(port), "--listen-on-stdin"]
        command += ["--project=p", "--zone=us-west4-a", f"--iap-tunnel-url-override={url}"]
        return subprocess.Popen(command, env=environment, **streams)

    return run


@pytest.mark.gcloud
def test_google_s_own_client_carries_bytes_both_ways(secure_url, far, directory, gcloud):
    tunnel = gcloud(secure_url, far.port, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sent = os.urandom(300_000)
    tunnel.stdin.write(sent)
    tunnel.stdin.flush()
    assert tunnel.stdout.read(len(sent)) == sent
    _, complaints = tunnel.communicate(timeout=30)
    assert tunnel.returncode == 0, complaints
    assert directory.asked == [Wanted("p", "us-west4-a", "bastion", "nic0", far.port)]


@pytest.mark.gcloud
def test_google_s_own_client_understands_a_refusal(secure_url, gcloud):
    tunnel = gcloud(secure_url, 1, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, complaints = tunnel.communicate(timeout=60)
    assert b"4003: 'failed to connect to backend'" in complaints
    assert b"Failed to connect to port 1" in complaints
