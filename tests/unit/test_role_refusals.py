"""Every refusal of the roles: wrong variables end the role with a sentence that names variable, value and remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF9nq5xPoShKrAy1TY0dxAUqiu49aRzF ada"
MEMBERS = [
    {"name": "localhost", "worker": 0, "internal_ip": "10.0.0.1"},
    {"name": "pod-w1", "worker": 1, "internal_ip": "10.0.0.2"},
]
POD = {"pod_ssh_pod": "pod", "pod_ssh_members": MEMBERS, "pod_ssh_users": ["ada"]}
FACTS = {"pod": "pod", "name": "pod-w0", "worker": 0, "members": []}

# role, variables, and what the message must say; None: these are accepted
CASES: dict[str, tuple[str, dict[str, Any], list[str] | None]] = {
    "no users are fine": ("users", {"users_accounts": []}, None),
    "good users are fine": ("users", {"users_accounts": [{"name": "ada", "keys": [KEY]}, {"name": "bo"}]}, None),
    "root is no account": ("users", {"users_accounts": [{"name": "root"}]}, ["users_accounts names root"]),
    "a name with capitals": ("users", {"users_accounts": [{"name": "Ada"}]}, ["users_accounts names Ada", "a-z"]),
    "a name twice": ("users", {"users_accounts": [{"name": "ada"}, {"name": "ada"}]}, ["ada, ada", "Join the entries"]),
    "a private key": (
        "users",
        {"users_accounts": [{"name": "ada", "keys": ["-----BEGIN OPENSSH PRIVATE KEY-----"]}]},
        ["A key of ada", "not a public ssh key", ".pub file"],
    ),
    "a key of two lines": (
        "users",
        {"users_accounts": [{"name": "ada", "keys": [f"{KEY}\n{KEY}"]}]},
        ["A key of ada", "not a public ssh key"],
    ),
    "the login without sudo": (
        "users",
        {"users_accounts": [{"name": "ada", "sudo": False}], "users_login": "ada"},
        ["gives ada sudo: false", "locked out"],
    ),
    "an account of no shape": ("users", {"users_accounts": [{"login": "ada"}]}, ["name"]),
    "a whole pod is fine": ("pod_ssh", POD, None),
    "a pod without the host": (
        "pod_ssh",
        POD | {"pod_ssh_members": MEMBERS[1:]},
        ["pod_ssh_members is pod-w1, without localhost itself"],
    ),
    "two members with one address": (
        "pod_ssh",
        POD | {"pod_ssh_members": [MEMBERS[0], {**MEMBERS[1], "internal_ip": "10.0.0.1"}]},
        ["10.0.0.1, 10.0.0.1 as internal_ip"],
    ),
    "a pod without a name": ("pod_ssh", POD | {"pod_ssh_pod": ""}, ["pod_ssh_pod is empty"]),
    "no bundle and no proxies are fine": ("packages", {}, None),
    "a bundle that is not there": (
        "packages",
        {"packages_ca_bundle": "/no/such/bundle.pem"},
        ["packages_ca_bundle is /no/such/bundle.pem", "Name a PEM file"],
    ),
    "a proxy without http": (
        "packages",
        {"packages_https_proxy": "proxy:3128"},
        ["packages_https_proxy is proxy:3128", "http://HOST:PORT"],
    ),
    "an index that is a path": (
        "packages",
        {"packages_pip_index_url": "/srv/pypi"},
        ["packages_pip_index_url is /srv/pypi"],
    ),
    "the default versions are fine": ("python", {}, None),
    "an exact Python is fine": ("python", {"python_version": "3.12"}, None),
    "a Python of no number": ("python", {"python_version": "newest"}, ["python_version is newest"]),
    "a Python below the minimum": (
        "python",
        {"python_version": "3.10"},
        ["python_version is 3.10, below python_minimum, 3.11"],
    ),
    "an environment elsewhere": (
        "python",
        {"python_venv": "../x"},
        ["python_venv is ../x", "outside of the users' home"],
    ),
    "variables are fine": ("jax", {"jax_environment": {"XLA_FLAGS": "--a=b --c"}}, None),
    "half a version of JAX": ("jax", {"jax_version": "0.10"}, ["jax_version is 0.10", "such as 0.10.2"]),
    "a variable with a line break": (
        "jax",
        {"jax_environment": {"A": "1\n2"}},
        ["jax_environment sets A", "/etc/environment cannot hold"],
    ),
    "a variable that is a number": ("jax", {"jax_environment": {"A": 1}}, ["jax_environment sets A to 1"]),
    "whole facts are fine": ("pod_facts", {"pod_facts_content": FACTS}, None),
    "facts without members": (
        "pod_facts",
        {"pod_facts_content": {"pod": "pod", "name": "w", "worker": 0}},
        ["pod_facts_content has pod, name, worker"],
    ),
    "a shell by its short name": ("shell", {"shell_program": "zsh"}, ["shell_program is zsh", "/usr/bin/zsh"]),
}
FILE_OF_ASSERTS = {"pod_facts": "main", "shell": "main"}


def play() -> list[dict[str, Any]]:
    """One play that runs each case and keeps what it said, so that Ansible starts once."""
    tasks: list[dict[str, Any]] = []
    for name, (role, variables, _) in CASES.items():
        run = [
            {
                "name": f"{name}: the shape",
                "ansible.builtin.validate_argument_spec": {
                    "argument_spec": "{{ spec.argument_specs.main.options }}",
                    "provided_arguments": variables,
                },
                "vars": {
                    "spec": f"{{{{ lookup('file', '{REPOSITORY}/roles/{role}/meta/argument_specs.yml') | from_yaml }}}}"
                },
            },
            {
                "name": f"{name}: the relations",
                "ansible.builtin.include_role": {
                    "name": role,
                    "tasks_from": FILE_OF_ASSERTS.get(role, "assert"),
                    "rolespec_validate": False,
                },
                "vars": variables,
            },
        ]
        keep = {
            "name": f"{name}: keep what it said",
            "ansible.builtin.set_fact": {
                "said": "{{ said | default({}) | combine({name: (ansible_failed_result.msg | default('')) ~ ' ' ~ "
                "(ansible_failed_result.results | default([]) | map(attribute='msg', default='') | join(' '))}) }}"
            },
            "vars": {"name": name},
        }
        tasks.append({"name": name, "block": run, "rescue": [keep]})
    tasks.append(
        {
            "name": "Report",
            "ansible.builtin.copy": {
                "content": "{{ said | default({}) | to_json }}",
                "dest": "{{ report }}",
                "mode": "0600",
            },
            "check_mode": False,
        }
    )
    # check mode: what is accepted must not be carried out on this machine
    return [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each refused case said; cases that were accepted are absent."""
    directory = tmp_path_factory.mktemp("refusals")
    (directory / "play.yml").write_text(yaml.safe_dump(play(), sort_keys=False))
    report = directory / "report.json"
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "--check",
            "-i",
            "localhost,",
            "-e",
            json.dumps({"report": str(report), "ansible_python_interpreter": sys.executable}),
            str(directory / "play.yml"),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    found: dict[str, str] = json.loads(report.read_text())
    return found


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is None])
def test_what_is_right_is_accepted(said: dict[str, str], name: str) -> None:
    assert name not in said


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_what_is_wrong_is_refused_with_variable_value_and_remedy(said: dict[str, str], name: str) -> None:
    assert name in said, "accepted"
    for part in CASES[name][2] or []:
        assert part in " ".join(said[name].split())
