"""podrun's command line and what it shows, with real processes in the place of ssh."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).resolve().parents[2] / "roles" / "podrun" / "files"
sys.path.insert(0, str(FILES))

import podrun  # noqa: E402 # type: ignore[import-not-found]
import podrun_launch  # noqa: E402 # type: ignore[import-not-found]
import podrun_output  # noqa: E402 # type: ignore[import-not-found]

MEMBERS = [{"name": f"pod-w{worker}", "worker": worker, "internal_ip": f"10.0.0.{worker}"} for worker in range(3)]
FACTS = {"pod": "pod", "name": "pod-w1", "members": MEMBERS}
JOB = {"command": ["true"], "directory": None, "environment": {}, "clean": False, "venv": "no-such-venv"}


def labels(hosts: list[Any]) -> list[str]:
    return [host.label for host in hosts]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["--", "ls", "-l"], ["ls", "-l"]),
        (["ls", "-l"], ["ls", "-l"]),
        (["-cw", "--", "ls", "--", "x"], ["ls", "--", "x"]),
        (["ls", "--", "x"], ["ls", "--", "x"]),
        (["echo a | wc"], ["echo a | wc"]),
    ],
)
def test_the_command_is_what_stands_behind_the_options(arguments: list[str], command: list[str]) -> None:
    assert podrun.parse(arguments).command == command


def test_short_options_can_be_joined() -> None:
    options = podrun.parse(["-icw", "--", "ls"])
    assert (options.include_local, options.clean, options.cwd, options.others) == (True, True, True, False)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--"], ["-c"], ["-i", "--others", "--", "ls"], ["--json", "-g", "--", "ls"], ["--timeout", "0", "ls"]],
)
def test_a_command_line_that_says_nothing_or_two_things_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        podrun.parse(arguments)
    assert error.value.code == 2


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        podrun.parse(["--help"])
    assert "podrun -- python train.py" in capsys.readouterr().out


def test_all_hosts_are_chosen_the_own_one_too() -> None:
    hosts = podrun.choose(FACTS, None, False)
    assert labels(hosts) == ["w0", "w1", "w2"]
    assert [host.own for host in hosts] == [False, True, False]


def test_others_are_all_but_the_own_one() -> None:
    assert labels(podrun.choose(FACTS, None, True)) == ["w0", "w2"]


@pytest.mark.parametrize("text", ["w0,w2", "w[0,2]", "pod-w0,w2", "pod-w[0,2]"])
def test_hosts_are_named_by_label_or_name_also_folded(text: str) -> None:
    assert labels(podrun.choose(FACTS, text, False)) == ["w0", "w2"]


def test_several_slices_have_labels_that_differ() -> None:
    members = [{"name": f"pod-s{s}-w{w}", "worker": w, "internal_ip": f"10.0.{s}.{w}"} for s in (0, 1) for w in (0, 1)]
    hosts = podrun.choose({"pod": "pod", "name": "pod-s0-w0", "members": members}, None, False)
    assert labels(hosts) == ["s0-w0", "s0-w1", "s1-w0", "s1-w1"]


def test_a_host_that_is_not_in_the_pod_is_refused_with_those_that_are() -> None:
    with pytest.raises(podrun.Refused, match=r"names w7, but this pod has w\[0-2\]"):
        podrun.choose(FACTS, "w0,w7", False)


def test_nobody_left_is_refused() -> None:
    with pytest.raises(podrun.Refused, match="no host is left"):
        podrun.choose({**FACTS, "members": MEMBERS[1:2]}, None, True)


@pytest.mark.parametrize("content", ["{", '{"pod": "pod"}'])
def test_facts_that_are_cut_short_are_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "pod.json").write_text(content)
    with pytest.raises(podrun.Refused, match=r"run site\.yml"):
        podrun.read_facts(tmp_path / "pod.json")
    with pytest.raises(podrun.Refused, match=r"is missing.*run site.yml"):
        podrun.read_facts(tmp_path / "absent.json")


def test_variables_are_taken_from_here_or_as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "1")
    assert podrun.variables(["HERE", "THERE=a=b"]) == {"HERE": "1", "THERE": "a=b"}
    with pytest.raises(podrun.Refused, match="no variable NOWHERE"):
        podrun.variables(["NOWHERE"])


def ours(label: str = "w0") -> Any:
    return podrun_output.Host(label=label, name=f"pod-{label}", address="10.0.0.0", own=True)


def launch(hosts: list[Any], command: list[str], show: Any = lambda *_: None, timeout: float = 0) -> None:
    podrun_launch.launch(hosts, JOB | {"command": command}, show, timeout=timeout, connect_timeout=2)


def test_a_run_keeps_both_streams_and_the_status() -> None:
    host = ours()
    launch([host], ["echo out; echo err >&2; printf end; exit 4"])
    assert (host.state, host.status) == ("exited", 4)
    assert host.text("stdout") == "out\nend\n"
    assert host.text("stderr") == "err\n"
    assert host.failure(0, 2) == "w0: the command ended with status 4."


def test_lines_appear_while_the_command_still_runs() -> None:
    seen: list[str] = []

    def show(host: Any, _stream: str, line: str) -> None:
        seen.append(f"{line} {host.state}")

    launch([ours()], ["echo first; sleep 0.3; echo second"], show)
    assert seen == ["first waiting", "second waiting"]


def test_a_command_out_of_time_has_status_124() -> None:
    host = ours()
    launch([host], ["sleep 60; true"], timeout=1)
    assert (host.state, host.status) == ("timed out", 124)
    assert "ended after 1 s, as --timeout asks" in (host.failure(1, 2) or "")


def test_a_host_that_ssh_cannot_reach_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host 10.0.0.2 port 22: No route to host' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    host = podrun_output.Host(label="w2", name="pod-w2", address="10.0.0.2")
    launch([host], ["true"])
    assert (host.state, host.status) == ("unreachable", 255)
    failure = host.failure(0, 2) or ""
    assert failure.startswith("w2: pod-w2 (10.0.0.2) could not be reached within 2 s (connect to host 10.0.0.2")


def test_a_command_that_itself_ends_with_255_was_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"  # runs the worker here, as ssh would run it there
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    host = podrun_output.Host(label="w2", name="pod-w2", address="10.0.0.2")
    launch([host], ["exit 255"])
    assert (host.state, host.status, host.started) == ("exited", 255, True)


def test_a_connection_that_breaks_under_way_is_told_from_a_command_that_fails() -> None:
    host = podrun_output.Host(label="w2", name="pod-w2", address="10.0.0.2", started=True)
    host.lines.append(("stderr", "Timeout, server 10.0.0.2 not responding."))
    host.ended(255)
    assert host.state == "lost"
    assert "the connection to pod-w2 (10.0.0.2) was lost while the command ran" in (host.failure(0, 2) or "")


def test_equal_outputs_are_shown_once() -> None:
    hosts = [ours(f"w{index}") for index in range(4)]
    for index, host in enumerate(hosts):
        host.lines.append(("stdout", "odd" if index == 2 else "same"))
    assert podrun_output.fold(hosts) == (
        "---------------\nw[0-1,3] (3)\n---------------\nsame\n---------------\nw2\n---------------\nodd\n"
    )


def test_the_summary_is_json_with_every_host() -> None:
    host = ours()
    host.lines.append(("stdout", "x"))
    host.ended(3)
    document = json.loads(podrun_output.summary(["ls"], 3, [host]))
    assert document["status"] == 3
    assert document["hosts"]["w0"] == {
        "name": "pod-w0",
        "address": "10.0.0.0",
        "state": "exited",
        "status": 3,
        "stdout": "x\n",
        "stderr": "",
    }


def test_labels_have_one_width_and_colours_only_on_a_terminal() -> None:
    hosts = [ours("w9"), ours("w10")]
    out, err = io.StringIO(), io.StringIO()
    plain = podrun_output.LinePrinter(hosts, out, err, colour=False)
    plain(hosts[0], "stdout", "a")
    plain(hosts[1], "stderr", "b")
    assert (out.getvalue(), err.getvalue()) == ("w9:  a\n", "w10: b\n")
    podrun_output.LinePrinter(hosts, out, err, colour=True)(hosts[0], "stdout", "a")
    assert "\x1b[36mw9:\x1b[0m" in out.getvalue()
