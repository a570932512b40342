"""Ansible module: each user's own key pair, made on the host where it stays, and the public halves of all its keys."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: pod_identity
short_description: Make the users' own ssh keys, and read public halves
description:
  - Makes ~/.ssh/id_ed25519 for each user who has none (no passphrase, as jobs use it), and returns the public half of
    every user's key and of the host's own keys. No private key is ever returned.
options:
  users: {type: list, elements: str, required: true}
  comment: {type: str, required: true, description: "Name of the host, for the keys' comments."}
attributes: {check_mode: {support: full}}
returns:
  users: {type: dict, description: "User to public key; a user who has none yet is left out in check mode."}
  host_keys: {type: list, description: "Public host keys without their comments."}
"""


def host_keys(directory: Path) -> list[str]:
    """The host's public keys ("type base64"), best type first, as sshd serves them."""
    keys = [" ".join(path.read_text().split()[:2]) for path in directory.glob("ssh_host_*_key.pub")]
    order = {"ssh-ed25519": 0, "ecdsa-sha2-nistp256": 1}
    return sorted(
        (key for key in keys if not key.startswith("ssh-dss")), key=lambda key: (order.get(key.split()[0], 2), key)
    )


def make_key(entry: pwd.struct_passwd, comment: str) -> None:
    """Makes the key pair as the user himself, so that nothing is owned by root and links lead nowhere else."""

    def become() -> None:
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
        os.umask(0o077)

    script = 'mkdir -p "$HOME/.ssh" && exec ssh-keygen -q -t ed25519 -N "" -C "$0" -f "$HOME/.ssh/id_ed25519"'
    subprocess.run(
        ["/bin/sh", "-c", script, f"{entry.pw_name}@{comment}"],
        preexec_fn=become,
        env={"HOME": entry.pw_dir, "PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )


def public_half(entry: pwd.struct_passwd) -> str | None:
    """The user's public key as "type base64 comment"; None when he has no key pair."""
    private = Path(entry.pw_dir) / ".ssh" / "id_ed25519"
    public = private.with_suffix(".pub")
    if not private.exists():
        return None
    if not public.exists():  # only the private half was kept: the public one follows from it
        done = subprocess.run(["ssh-keygen", "-y", "-f", str(private)], capture_output=True, text=True, check=True)
        return " ".join(done.stdout.split())
    return " ".join(public.read_text().split())


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "users": {"type": "list", "elements": "str", "required": True},
            "comment": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    made = []
    keys = {}
    for user in module.params["users"]:
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            if module.check_mode:  # the users role would have made him
                made.append(user)
                continue
            module.fail_json(
                msg=f"pod_ssh_users names {user!r}, who is not a user of this host; add him to users_accounts."
            )
        try:
            if public_half(entry) is None:
                made.append(user)
                if not module.check_mode:
                    make_key(entry, module.params["comment"])
            key = public_half(entry)
        except subprocess.CalledProcessError as error:
            module.fail_json(msg=f"ssh-keygen failed for {user}: {error.stderr.strip()}")
        if key:
            keys[user] = key
    module.exit_json(changed=bool(made), made=made, users=keys, host_keys=host_keys(Path("/etc/ssh")))


if __name__ == "__main__":
    main()
