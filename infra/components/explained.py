"""Resource options that every resource of the program has; among them the errors of the cloud in plain words."""

from __future__ import annotations

import pulumi

from components.patience import Patience
from tpuwright.cloud.errors import explain

_hook: pulumi.ErrorHook | None = None


def child_of(
    parent: pulumi.Resource,
    *,
    depends_on: list[pulumi.Resource] | None = None,
    ignore_changes: list[str] | None = None,
    replace_on_changes: list[str] | None = None,
    minutes: int | None = None,
    watch: Patience | None = None,
) -> pulumi.ResourceOptions:
    """Options of a resource inside of a component.

    Names are fixed, so a replacement must delete first (Google answers 409 otherwise). ``minutes`` is how long
    creating and deleting may take, where the provider's own patience is too short; ``watch`` follows the creation.
    """
    timeouts = pulumi.CustomTimeouts(create=f"{minutes}m", delete=f"{minutes}m") if minutes else None
    return pulumi.ResourceOptions(
        parent=parent,
        depends_on=depends_on,
        ignore_changes=ignore_changes,
        replace_on_changes=replace_on_changes,
        delete_before_replace=True,
        custom_timeouts=timeouts,
        hooks=_hooks(watch),
    )


def _hooks(watch: Patience | None) -> pulumi.ResourceHookBinding:
    global _hook  # the engine takes one hook of a name, and resources share it
    if _hook is None:
        _hook = pulumi.ErrorHook("explain-cloud-errors", say)
    if watch is None:
        return pulumi.ResourceHookBinding(on_error=[_hook])
    failed = pulumi.ErrorHook(f"stop-watching-{watch.node}", watch.failed)
    return pulumi.ResourceHookBinding(before_create=[watch.begin], after_create=[watch.end], on_error=[_hook, failed])


def say(failure: pulumi.ErrorHookArgs) -> bool:
    """Put the sentence under the provider's own words; never ask the engine to try again by itself."""
    sentence = explain(failure.errors[0]) if failure.errors else None
    if sentence:
        pulumi.log.error(f"{failure.name} ({failure.failed_operation}): {sentence}")
    return False
