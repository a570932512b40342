import datetime
import json

import pytest

from rehearsal.hosts.image.guest import accounts, keys, metadata

NOW = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)


def tree(instance: str = "", project: str = "", **attributes: str) -> metadata.Tree:
    return {
        "instance": {"attributes": {"ssh-keys": instance, **attributes}},
        "project": {"attributes": {"ssh-keys": project}},
    }


def expiring(moment: str) -> str:
    return f"ada:ssh-ed25519 AAAA google-ssh {json.dumps({'userName': 'ada', 'expireOn': moment})}"


def test_instance_and_project_keys_are_both_taken():
    assert accounts.desired_keys(tree("ada:ssh-ed25519 A a", "bob:ssh-ed25519 B b"), NOW) == {
        "ada": ["ssh-ed25519 A a"],
        "bob": ["ssh-ed25519 B b"],
    }


def test_project_keys_are_left_out_where_the_instance_blocks_them():
    blocked = tree("ada:ssh-ed25519 A a", "bob:ssh-ed25519 B b", **{"block-project-ssh-keys": "TRUE"})
    assert list(accounts.desired_keys(blocked, NOW)) == ["ada"]


@pytest.mark.parametrize("line", ["", "no key", "Robert'); DROP:ssh-ed25519 A", "../etc:ssh-ed25519 A", "ada:short"])
def test_a_line_that_is_no_user_and_key_is_passed_over(line):
    assert accounts.desired_keys(tree(line + "\nbob:ssh-ed25519 B b"), NOW) == {"bob": ["ssh-ed25519 B b"]}


def test_a_key_counts_until_the_moment_it_expires_on():
    assert accounts.desired_keys(tree(expiring("2026-11-21T12:00:01+0000")), NOW)
    assert not accounts.desired_keys(tree(expiring("2026-11-21T12:00:00+0000")), NOW)
    assert accounts.next_expiry(tree(expiring("2026-11-21T13:00:00+0000")), NOW) == NOW.replace(hour=13)


def test_a_key_with_an_expiry_that_cannot_be_read_has_expired():
    assert not accounts.desired_keys(tree("ada:ssh-ed25519 AAAA google-ssh {broken"), NOW)


def test_keys_that_others_added_stay_and_ours_follow_the_metadata():
    first = keys.merge("ssh-ed25519 MINE me\n", ["ssh-ed25519 A a", "ssh-ed25519 B b"])
    assert first.count(keys.MARK) == 2
    second = keys.merge(first + "ssh-ed25519 LATER me\n", ["ssh-ed25519 B b"])
    assert second.splitlines() == ["ssh-ed25519 MINE me", "ssh-ed25519 LATER me", keys.MARK, "ssh-ed25519 B b"]
    assert keys.merge(second, []) == "ssh-ed25519 MINE me\nssh-ed25519 LATER me\n"
    assert keys.merge(second, ["ssh-ed25519 B b"]) == second


def test_the_instance_s_word_on_guest_attributes_comes_before_the_project_s():
    both = {
        "instance": {"attributes": {"enable-guest-attributes": "FALSE"}},
        "project": {"attributes": {"enable-guest-attributes": "TRUE"}},
    }
    assert not metadata.is_true(both, "enable-guest-attributes")
    assert metadata.is_true({"project": both["project"]}, "enable-guest-attributes")
