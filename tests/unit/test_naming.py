"""Names: what Google accepts, and what stacks call what they make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpuwright import naming

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("name", ["pod", "a", "pod-1", "x" * 63])
def test_a_good_resource_name_is_accepted(name):
    assert naming.resource_name_problem(name) is None


@pytest.mark.parametrize("name", ["Pod", "1pod", "pod_1", "pod-", "-pod", "", "x" * 64, "pød", "pod\n"])
def test_a_name_that_google_refuses_is_refused(name):
    assert naming.resource_name_problem(name)


@given(st.text(min_size=1, max_size=120))
def test_whatever_a_stack_is_called_google_accepts_what_is_made_of_it(text):
    assert naming.resource_name_problem(naming.name_of(text)) is None
    assert naming.resource_name_problem(naming.name_of("tpuwright", text, "bastion")) is None
    account = naming.name_of("tpuwright", text, limit=naming.SERVICE_ACCOUNT_ID_LIMIT)
    assert 6 <= len(account) <= 30
    assert naming.label_value_problem(naming.label_value(text)) is None


@given(st.lists(st.text(alphabet=f"{LETTERS}ABC_.", min_size=1, max_size=80), min_size=2, max_size=2, unique=True))
def test_stacks_of_different_names_never_share_a_resource(names):
    first, second = names
    assert naming.name_of("tpuwright", first) != naming.name_of("tpuwright", second)


def test_a_good_name_is_kept_as_it_is():
    assert naming.name_of("tpuwright", "rehearsal", "bastion") == "tpuwright-rehearsal-bastion"


@pytest.mark.parametrize("name", ["root", "ubuntu", "Nixie", "9lives", "a b", "x" * 33, ""])
def test_a_login_that_hosts_would_refuse_is_refused(name):
    assert naming.login_problem(name)


@pytest.mark.parametrize("name", ["nixie", "_svc", "a-b_c9"])
def test_a_good_login_is_accepted(name):
    assert naming.login_problem(name) is None


@pytest.mark.parametrize("zone", ["us-west4-a", "us-central1-ai1a", "europe-west4-b", "northamerica-northeast1-c"])
def test_zones_are_accepted_and_know_their_region(zone):
    assert naming.zone_problem(zone) is None
    assert zone.startswith(naming.region_of(zone) + "-")


def test_a_region_is_refused_where_a_zone_is_meant():
    assert "add its letter, such as 'us-west4-a'" in naming.zone_problem("us-west4")


@pytest.mark.parametrize("name", ["my-pod-s1", "a-s10"])
def test_a_pod_may_not_be_named_like_a_slice_of_another(name):
    assert "slice" in naming.pod_name_problem(name)


@pytest.mark.parametrize("key", ["tpuwright-stack", "goog-x", "Team", "9a", "", "a" * 64, "a b"])
def test_label_keys_that_google_refuses_or_that_are_ours_are_refused(key):
    assert naming.label_key_problem(key)


def test_labels_in_other_alphabets_are_accepted_as_google_does():
    assert naming.label_key_problem("équipe") is None
    assert naming.label_value_problem("研究") is None


@pytest.mark.parametrize("project", ["My Project", "123456789012", "short", "x-"])
def test_what_is_not_a_project_id_is_refused(project):
    assert "gcloud projects list" in naming.project_problem(project)
