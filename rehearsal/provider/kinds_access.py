"""Who may do what: service accounts, members of a project's policy, and the APIs that a project has enabled."""

from rehearsal.provider.kinds import Kind, Update

ACCOUNT = Kind(
    "gcp:serviceaccount/account:Account",
    title="service account",
    service="iam",
    operation="none",
    collection="projects/{project}/serviceAccounts",
    path="projects/{project}/serviceAccounts/{email}",
    virtual=frozenset({"createIgnoreAlreadyExists"}),
    api={"project": "projectId"},
    name_pattern=r"^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$",
    updates=(
        Update(
            ("displayName", "description", "disabled"),
        ),
    ),
    behaviour="rehearsal.provider.service_account:ServiceAccount",
)

IAM_MEMBER = Kind(
    "gcp:projects/iAMMember:IAMMember",
    title="IAM Member",
    service="resourceManager",
    operation="none",
    collection="projects/{project}",
    behaviour="rehearsal.provider.policy_member:PolicyMember",
)

SERVICE = Kind(
    "gcp:projects/service:Service",
    title="Project Service",
    service="serviceUsage",
    operation="long-running",
    collection="projects/{project}/services",
    path="projects/{project}/services/{service}",
    identity="{project}/{service}",
    compared_as_names=frozenset({"project"}),
    virtual=frozenset({"checkIfServiceHasUsageOnDestroy", "disableDependentServices", "disableOnDestroy"}),
    behaviour="rehearsal.provider.enabled_service:EnabledService",
)

KINDS = (ACCOUNT, IAM_MEMBER, SERVICE)
