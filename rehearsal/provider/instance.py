"""A virtual machine: a body and a state of its own shape, and changes that need it stopped."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.bodies import Body, encode
from rehearsal.provider.errors import ProviderError
from rehearsal.provider.kinds import Update
from rehearsal.provider.lifecycle import Edit, Found, Lifecycle
from rehearsal.provider.links import last_part
from rehearsal.provider.values import Properties

_SCOPE_PREFIX = "https://www.googleapis.com/auth/"
# These are of another shape in the API than in the plugin.
_OTHERWISE = ("bootDisk", "attachedDisks", "scratchDisks", "metadata", "metadataStartupScript", "tags", "params")
_WHILE_STOPPED = {"/setMachineType", "/setServiceAccount"}
_STATUS_TIMEOUT, _STATUS_WAIT = 20 * 60, 1.0


class Instance(Lifecycle):
    """`gcp:compute/instance:Instance`."""

    def creation_body(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> Body:
        plain = {name: value for name, value in inputs.items() if name not in (*_OTHERWISE, "serviceAccount")}
        made = super().creation_body(plain, scope)
        made.pop("zone", None)
        made["canIpForward"] = bool(inputs.get("canIpForward"))
        made["deletionProtection"] = bool(inputs.get("deletionProtection"))
        made["disks"] = self._disks(inputs, scope)
        made["metadata"] = _metadata(inputs)
        made["params"] = encode(self.kind, self.kind.schema.inputs["params"], inputs.get("params"), scope) or {}
        made.setdefault("scheduling", {"automaticRestart": True})
        made["tags"] = {"items": inputs["tags"]} if inputs.get("tags") else {}
        if inputs.get("shieldedInstanceConfig"):
            given = inputs["shieldedInstanceConfig"]
            names = ("enableIntegrityMonitoring", "enableSecureBoot", "enableVtpm")
            made["shieldedInstanceConfig"] = {name: bool(given.get(name)) for name in names}
        if inputs.get("serviceAccount"):
            made["serviceAccounts"] = [_service_account(inputs["serviceAccount"])]
        if made.get("resourcePolicies"):
            made["resourcePolicies"] = [made["resourcePolicies"]]
        for interface in made.get("networkInterfaces", []):
            for access in interface.get("accessConfigs", []):
                access["type"] = "ONE_TO_ONE_NAT"
        return made

    def _disks(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> list[Body]:
        boot = inputs["bootDisk"]
        initial = boot.get("initializeParams") or {}
        first: Body = {"autoDelete": bool(boot.get("autoDelete", True)), "boot": True, "mode": boot.get("mode")}
        given = {"deviceName": boot.get("deviceName"), "source": boot.get("source")}
        if boot.get("kmsKeySelfLink"):
            given["diskEncryptionKey"] = {"kmsKeyName": boot["kmsKeySelfLink"]}
        first |= {name: value for name, value in given.items() if value}
        params = {
            "diskSizeGb": str(initial["size"]) if initial.get("size") else None,
            "sourceImage": _image(initial["image"]) if initial.get("image") else None,
            "sourceSnapshot": initial.get("snapshot"),
            "labels": initial.get("labels"),
            "diskType": f"zones/{scope['zone']}/diskTypes/{last_part(initial['type'])}"
            if initial.get("type")
            else None,
        }
        params = {name: value for name, value in params.items() if value}
        if params:
            first["initializeParams"] = params
        attached = [
            {name: disk[name] for name in ("source", "deviceName", "mode") if disk.get(name)}
            for disk in inputs.get("attachedDisks") or []
        ]
        return [first, *attached]

    def _first_read(self, scope: Mapping[str, str], answer: Answer, known: Properties) -> Found:
        self._until(scope, "RUNNING")
        return super()._first_read(scope, answer, known)

    def get(self, scope: Mapping[str, str], known: Mapping[str, Any]) -> Properties | None:
        found = super().get(scope, known)
        if found is None:
            return None
        script = (found.get("metadata") or {}).get("startup-script")
        if known.get("metadataStartupScript") and script is not None:
            found["metadata"] = {k: v for k, v in found["metadata"].items() if k != "startup-script"}
            found["metadataStartupScript"] = script
        if not (known.get("bootDisk") or {}).get("interface"):
            (found.get("bootDisk") or {}).pop("interface", None)
        if known.get("desiredStatus"):
            found["desiredStatus"] = found.get("currentStatus")
        return found

    def fetch(self, scope: Mapping[str, str]) -> Answer | None:
        """The instance in the shape of the plugin's properties, its boot disk read as well."""
        answer = super().fetch(scope)
        if answer is None:
            return None
        disks = answer.get("disks") or []
        boot: Answer = next((disk for disk in disks if disk.get("boot")), {})
        accounts = answer.get("serviceAccounts") or []
        metadata = answer.get("metadata") or {}
        tags = answer.get("tags") or {}
        return {
            **answer,
            "attachedDisks": [disk for disk in disks if not disk.get("boot") and disk.get("type") != "SCRATCH"],
            "bootDisk": self._boot_disk(scope, boot),
            "labelFingerprint": answer.get("labelFingerprint", ""),
            "metadata": {item["key"]: item.get("value", "") for item in metadata.get("items") or []},
            "metadataFingerprint": metadata.get("fingerprint", ""),
            "resourcePolicies": next(iter(answer.get("resourcePolicies") or []), None),
            "serviceAccount": accounts[0] if accounts else None,
            "tags": tags.get("items") or [],
            "tagsFingerprint": tags.get("fingerprint", ""),
        }

    def _boot_disk(self, scope: Mapping[str, str], boot: Mapping[str, Any]) -> Body | None:
        if not boot:
            return None
        disk = {}
        if boot.get("source"):
            disk = self.api.request(
                "GET", self.url("projects/{project}/zones/{zone}/disks/", scope) + last_part(boot["source"])
            )
        initial = {
            "image": disk.get("sourceImage", ""),
            "labels": disk.get("labels") or {},
            "size": disk.get("sizeGb") or boot.get("diskSizeGb") or 0,
            "snapshot": disk.get("sourceSnapshot", ""),
            "type": disk.get("type", ""),
        }
        kept = ("autoDelete", "deviceName", "mode", "source", "interface")
        return {**{name: boot[name] for name in kept if name in boot}, "initializeParams": initial}

    def send_update(self, update: Update, edit: Edit) -> None:
        if update.verb not in _WHILE_STOPPED or edit.old.get("currentStatus") != "RUNNING":
            self._send(update, edit)
            return
        if not edit.inputs.get("allowStoppingForUpdate"):
            raise ProviderError(
                f"Changing {', '.join(sorted(edit.changed & set(update.properties)))} on a started instance requires "
                "stopping it. To acknowledge this, please set allow_stopping_for_update = true in your config."
            )
        self._act(edit, "stop")
        self._send(update, edit)
        self._act(edit, "start")

    def _send(self, update: Update, edit: Edit) -> None:
        url = self.url(self.kind.own_path, edit.scope) + update.verb
        query, body = "", self._changed_body(update, edit)
        if update.verb == "/setDeletionProtection":
            query, body = f"deletionProtection={str(bool(edit.inputs.get('deletionProtection'))).lower()}", None
        answer = self.api.request("POST", url, body, query)
        self.wait(edit.scope, answer, "Updating instance", edit.timeout)

    def _changed_body(self, update: Update, edit: Edit) -> Body | None:
        if update.verb == "/setMetadata":
            return {**_metadata(edit.inputs), "fingerprint": edit.old.get("metadataFingerprint", "")}
        if update.verb == "/setTags":
            return {"fingerprint": edit.old.get("tagsFingerprint", ""), "items": edit.inputs.get("tags") or []}
        if update.verb == "/setServiceAccount":
            return _service_account(edit.inputs.get("serviceAccount") or {})
        return self.update_body(update, edit)

    def _act(self, edit: Edit, verb: str) -> None:
        answer = self.api.request("POST", f"{self.url(self.kind.own_path, edit.scope)}/{verb}")
        self.wait(edit.scope, answer, f"{verb} instance", edit.timeout)

    def _until(self, scope: Mapping[str, str], status: str) -> None:
        url = self.url(self.kind.own_path, scope)
        waited = 0.0
        while self.api.request("GET", url, None, self.kind.read_query).get("status", status) != status:
            if waited > _STATUS_TIMEOUT:
                raise ProviderError(f"Error waiting for status: the instance does not become {status}")
            self.api.wait(_STATUS_WAIT)
            waited += _STATUS_WAIT


def _metadata(inputs: Mapping[str, Any]) -> Body:
    items = dict(inputs.get("metadata") or {})
    if inputs.get("metadataStartupScript"):
        items["startup-script"] = inputs["metadataStartupScript"]
    return {"items": [{"key": key, "value": items[key]} for key in sorted(items)]} if items else {}


def _service_account(given: Mapping[str, Any]) -> Body:
    scopes = [s if s.startswith("https://") else _SCOPE_PREFIX + s for s in given.get("scopes") or []]
    return {name: value for name, value in {"email": given.get("email"), "scopes": scopes}.items() if value}


def _image(image: str) -> str:
    """`debian-cloud/debian-12` means the newest image of that family."""
    parts = image.split("/")
    if len(parts) == 2 and parts[0] not in ("global", "family"):
        return f"projects/{parts[0]}/global/images/family/{parts[1]}"
    return image
