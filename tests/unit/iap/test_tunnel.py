"""The tunnel against a relay that counts and misbehaves; the emulator's own relay is used in tests/emulator."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys

import pytest
from echo_relay import Collected, EchoRelay

from tpuwright.errors import TpuwrightError
from tpuwright.iap.errors import Where
from tpuwright.iap.tunnel import Tunnel

WHERE = Where("bastion", 22, "my-project", "us-west4-a")


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "secret")


async def there_and_back(relay: EchoRelay, payload: bytes) -> bytes:
    reader, writer = asyncio.StreamReader(), Collected(len(payload))
    reader.feed_data(payload)
    async with relay.running():
        tunnel = asyncio.create_task(Tunnel(WHERE, relay.url, reader, writer).run())
        arrived = asyncio.create_task(writer.complete.wait())
        await asyncio.wait({tunnel, arrived}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        reader.feed_eof()
        await asyncio.wait_for(tunnel, 30)
        arrived.cancel()
    return bytes(writer.data)


def test_every_byte_comes_back_in_frames_of_at_most_16384_bytes() -> None:
    payload = random.Random(1).randbytes(1_000_000)
    relay = EchoRelay()
    assert asyncio.run(there_and_back(relay, payload)) == payload
    assert relay.largest == 16384
    assert len(payload) - relay.acknowledged <= 32768 + 16384


def test_the_relay_is_told_which_port_of_which_instance() -> None:
    relay = EchoRelay()
    asyncio.run(there_and_back(relay, b"hello"))
    path, query = relay.queries[0]
    assert path == "/v4/connect"
    assert query == {
        "project": "my-project",
        "zone": "us-west4-a",
        "instance": "bastion",
        "interface": "nic0",
        "port": "22",
        "newWebsocket": "True",
    }


def test_a_lost_websocket_loses_no_byte_and_repeats_none() -> None:
    payload = random.Random(2).randbytes(600_000)
    relay = EchoRelay(lose_after=[50_000, 200_000, 400_000])
    assert asyncio.run(there_and_back(relay, payload)) == payload
    paths = [path for path, _ in relay.queries]
    assert paths == ["/v4/connect", *["/v4/reconnect"] * 3]
    assert all(query["sid"] == "sid-1" for _, query in relay.queries[1:])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (4003, "35.235.240.0/20"),
        (4033, "roles/iap.tunnelResourceAccessor"),
        (4047, "no such instance"),
    ],
)
def test_a_close_that_ends_the_session_becomes_one_sentence(code: int, words: str) -> None:
    with pytest.raises(TpuwrightError) as error:
        asyncio.run(there_and_back(EchoRelay(close_with=code), b"x"))
    message = str(error.value)
    assert words in message
    assert "port 22 of bastion" in message
    assert "\n" not in message


def test_a_wrong_token_says_how_to_get_another() -> None:
    with pytest.raises(TpuwrightError, match="gcloud auth application-default login"):
        asyncio.run(there_and_back(EchoRelay(token="another"), b"x"))


def test_a_missing_permission_names_the_role() -> None:
    with pytest.raises(TpuwrightError, match=r"roles/iap\.tunnelResourceAccessor"):
        asyncio.run(there_and_back(EchoRelay(refuse_with=403), b"x"))


def command(url: str) -> list[str]:
    options = ["--project", "p", "--zone", "z", "--url", url]
    return [sys.executable, "-m", "tpuwright.iap", "bastion", "22", *options]


def test_the_command_says_one_sentence_on_stderr_when_there_is_no_relay() -> None:
    done = subprocess.run(
        command("ws://127.0.0.1:1/v4"), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert "127.0.0.1:1" in done.stderr


def test_the_command_carries_standard_input_and_output_through_pipes() -> None:
    async def talk() -> bytes:
        async with EchoRelay().running() as relay:
            process = await asyncio.create_subprocess_exec(
                *command(relay.url),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=os.environ,
            )
            process.stdin.write(b"SSH-2.0-test\r\n")
            answer = await asyncio.wait_for(process.stdout.readexactly(14), 30)
            process.stdin.close()
            assert await asyncio.wait_for(process.wait(), 30) == 0
            return answer

    assert asyncio.run(talk()) == b"SSH-2.0-test\r\n"


def test_the_command_loads_neither_typer_nor_googles_libraries() -> None:
    code = "import sys, tpuwright.iap.__main__; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("typer", "pydantic", "google.auth", "googleapiclient", "rich"):
        assert f"'{heavy}'" not in loaded
