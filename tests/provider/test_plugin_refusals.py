"""The stand-in works with the emulator and with nothing else."""

import contextlib
import http.server
import threading
from collections.abc import Iterator

import pytest
from google_stub import TOKEN, GoogleStub

from rehearsal.provider import configuration
from rehearsal.provider.errors import ProviderError


def settings(endpoint: str) -> dict[str, object]:
    return {"project": "p", "accessToken": TOKEN} | {key: endpoint + "/x/" for key in configuration.SERVICES.values()}


@contextlib.contextmanager
def a_web_server() -> Iterator[str]:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://tpu.googleapis.com",
        "http://10.0.0.5:8778",
        "https://127.0.0.1:8778",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com:80",
        "http://2130706433.example.com",
        "ftp://127.0.0.1",
        "127.0.0.1:8778",
    ],
)
def test_an_endpoint_that_is_not_on_this_machine_is_refused_with_the_way_to_the_official_plugin(endpoint: str) -> None:
    with pytest.raises(ProviderError, match=r"pulumi plugin install resource gcp 10\.2\.0"):
        configuration.read(settings(endpoint))


@pytest.mark.parametrize("key", list(configuration.SERVICES.values()))
def test_an_endpoint_that_is_not_set_is_refused_as_it_would_be_googles(key: str) -> None:
    given = settings("http://127.0.0.1:8778")
    del given[key]
    with pytest.raises(ProviderError, match=f"gcp:{key} is not set, so requests would go to Google"):
        configuration.read(given)


def test_any_endpoint_of_another_machine_is_refused_even_of_a_service_that_is_not_used() -> None:
    given = settings("http://127.0.0.1:8778") | {"storageCustomEndpoint": "https://storage.googleapis.com/storage/v1/"}
    with pytest.raises(ProviderError, match="storageCustomEndpoint"):
        configuration.read(given)


def test_a_missing_token_is_named_with_the_command_that_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN", raising=False)
    given = settings("http://127.0.0.1:8778")
    del given["accessToken"]
    with pytest.raises(ProviderError, match="tpuwright env rehearsal"):
        configuration.read(given)


def test_the_token_is_not_in_the_configurations_text() -> None:
    assert TOKEN not in repr(configuration.read(settings("http://127.0.0.1:8778")))


def test_a_server_that_is_not_the_emulator_is_refused() -> None:
    with a_web_server() as endpoint, pytest.raises(ProviderError, match="is not the emulator"):
        configuration.insist_on_the_emulator(configuration.read(settings(endpoint)))


def test_an_address_where_nothing_answers_is_named_with_the_command_that_starts_the_emulator() -> None:
    with a_web_server() as endpoint:
        pass
    with pytest.raises(ProviderError, match="tpuwright emulator start"):
        configuration.insist_on_the_emulator(configuration.read(settings(endpoint)))


def test_the_emulator_is_accepted(google: GoogleStub) -> None:
    configuration.insist_on_the_emulator(configuration.read(settings(google.endpoint)))
