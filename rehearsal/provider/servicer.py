"""The provider's gRPC service: Pulumi's messages in front, the lifecycles of `Kind`s behind."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import grpc  # type: ignore[import-untyped,unused-ignore]
from google.protobuf import empty_pb2  # type: ignore[import-untyped,unused-ignore]
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as messages

from rehearsal.provider import check, configuration, diff, imports, preview, values
from rehearsal.provider.api import Api
from rehearsal.provider.engine_log import EngineLog
from rehearsal.provider.errors import ProviderError, as_the_plugin_says
from rehearsal.provider.kinds import Kind, all_kinds
from rehearsal.provider.lifecycle import Half, Lifecycle, lifecycle_of
from rehearsal.provider.scope import Defaults, ScopeError
from rehearsal.provider.sensitive import with_secrets
from rehearsal.provider.values import Properties

VERSION = "10.2.0"
_Message = TypeVar("_Message")
_Method = Callable[["Provider", Any, grpc.ServicerContext], _Message]


def answers(method: _Method[_Message]) -> _Method[_Message]:
    """End a call with the error's sentence, or with the half-made resource, in the form that the engine reads."""

    @functools.wraps(method)
    def call(self: "Provider", request: Any, context: grpc.ServicerContext) -> _Message:
        try:
            return method(self, request, context)
        except Half as half:
            detail = messages.ErrorResourceInitFailed(
                id=half.found.identity,
                properties=self.outputs(_token(request.urn), half.found.properties),
                reasons=[as_the_plugin_says(half)],
            )
            status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(half))
            status.details.add().Pack(detail)
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(grpc.StatusCode.UNKNOWN, str(half))
        except (ProviderError, ScopeError) as error:
            text = as_the_plugin_says(error) if isinstance(error, ProviderError) else str(error)
            context.abort(grpc.StatusCode.UNKNOWN, text)
        raise AssertionError("abort raises")

    return call


class Provider(provider_pb2_grpc.ResourceProviderServicer):
    """One process serves one configuration: the engine starts another for another provider resource."""

    def __init__(self, engine: str) -> None:
        self._log = EngineLog(engine)
        self._configuration: configuration.Configuration | None = None
        self._api: Api | None = None
        self._accepts_secrets = False
        self._cancelled = False

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        self._log = EngineLog(request.engine_address)
        return messages.ProviderHandshakeResponse()

    def Attach(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        self._log = EngineLog(request.address)
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        """An empty schema: enough for `pulumi import` to ask, which then writes no program."""
        return messages.GetSchemaResponse(schema=f'{{"name": "gcp", "version": "{VERSION}"}}')

    def CheckConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        """Refuse a configuration that would send anything to Google."""
        news = values.from_wire(request.news)
        failures = []
        if not values.has_unknown(news):
            try:
                configuration.read(news)
            except ProviderError as error:
                failures.append(messages.CheckFailure(reason=str(error)))
        return messages.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        """Another project means other resources; a new token or endpoint does not."""
        news, olds = values.from_wire(request.news), values.from_wire(request.olds)
        replaces = ["project"] if news.get("project") != olds.get("project") else []
        some = news != olds
        return messages.DiffResponse(
            changes=messages.DiffResponse.DIFF_SOME if some else messages.DiffResponse.DIFF_NONE, replaces=replaces
        )

    @answers
    def Configure(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        settings = values.from_wire(request.args)
        self._accepts_secrets = request.acceptSecrets
        if not values.has_unknown(settings):
            found = configuration.read(settings)
            configuration.insist_on_the_emulator(found)
            self._configuration = found
            self._api = Api(found.token, self._log.status)
            if self._cancelled:
                self._api.cancel()
        return messages.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True)

    @answers
    def Check(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        kind, name = _kind(request.urn), _name(request.urn)
        news, olds = values.from_wire(request.news), values.from_wire(request.olds)
        failures = check.failures(kind, name, news)
        proposed = request.autonaming.proposed_name if request.HasField("autonaming") else None
        filled = check.filled(kind, name, news, olds, request.randomSeed, proposed) if not failures else news
        return messages.CheckResponse(
            inputs=values.to_wire(filled), failures=[messages.CheckFailure(reason=reason) for reason in failures]
        )

    @answers
    def Diff(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        kind = _kind(request.urn)
        olds, news = values.from_wire(request.olds), values.from_wire(request.news)
        changes = diff.changes(kind, olds, news, tuple(request.ignoreChanges))
        replaces = sorted({change.property_name for change in changes if change.replaces})
        kinds = messages.PropertyDiff.Kind
        detailed = {
            change.path: messages.PropertyDiff(
                kind=kinds.Value(change.kind.upper() + ("_REPLACE" if change.replaces else ""))
            )
            for change in changes
        }
        stable = sorted(name for name, item in kind.schema.inputs.items() if item.replaces and name not in replaces)
        return messages.DiffResponse(
            changes=messages.DiffResponse.DIFF_SOME if changes else messages.DiffResponse.DIFF_NONE,
            replaces=replaces,
            stables=stable,
            # Two resources cannot have one name: a name that the program chose frees itself first.
            deleteBeforeReplace=bool(replaces) and _name_is_chosen(kind, news),
            diffs=sorted({change.property_name for change in changes}),
            detailedDiff=detailed,
            hasDetailedDiff=True,
        )

    @answers
    def Create(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        kind = _kind(request.urn)
        inputs = values.from_wire(request.properties)
        if request.preview:
            defaults = self._configuration.defaults if self._configuration else Defaults()
            planned = preview.of_creation(kind, inputs, defaults)
            return messages.CreateResponse(id="", properties=self.outputs(kind.token, planned))
        found = self._lifecycle(kind).create(inputs, request.timeout or None)
        return messages.CreateResponse(id=found.identity, properties=self.outputs(kind.token, found.properties))

    @answers
    def Read(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        kind = _kind(request.urn)
        known, old_inputs = values.from_wire(request.properties), values.from_wire(request.inputs)
        found = self._lifecycle(kind).read(request.id, known)
        if found is None:
            return messages.ReadResponse()
        if known:
            inputs = imports.of_refresh(kind, old_inputs, found.properties)
        else:
            inputs = imports.of_import(kind, found.properties)
        return messages.ReadResponse(
            id=found.identity,
            properties=self.outputs(kind.token, found.properties),
            inputs=values.to_wire(with_secrets(kind, inputs) if self._accepts_secrets else inputs),
        )

    @answers
    def Update(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        kind = _kind(request.urn)
        olds, news = values.from_wire(request.olds), values.from_wire(request.news)
        news = _without_ignored(olds, news, tuple(request.ignoreChanges))
        if request.preview:
            planned = preview.of_update(kind, olds, news)
            return messages.UpdateResponse(properties=self.outputs(kind.token, planned))
        found = self._lifecycle(kind).update(request.id, olds, news, request.timeout or None)
        return messages.UpdateResponse(properties=self.outputs(kind.token, found.properties))

    @answers
    def Delete(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        properties = values.from_wire(request.properties)
        self._lifecycle(_kind(request.urn)).delete(request.id, properties, request.timeout or None)
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG002
        self.cancel()
        return empty_pb2.Empty()

    def cancel(self) -> None:
        """End all waits; calls under way answer at once."""
        self._cancelled = True
        if self._api is not None:
            self._api.cancel()

    def Invoke(self, request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED, f"the rehearsal's stand-in for the gcp plugin has no function {request.tok}"
        )

    def outputs(self, token: str, properties: Mapping[str, Any]) -> Any:
        """The properties as the engine takes them, what the schema calls secret marked so."""
        kind = all_kinds()[token]
        marked = with_secrets(kind, properties) if self._accepts_secrets else dict(properties)
        return values.to_wire(marked)

    def _lifecycle(self, kind: Kind) -> Lifecycle:
        if self._configuration is None or self._api is None:
            raise ProviderError("the provider is not configured: a value of its configuration is not known yet")
        return lifecycle_of(kind, self._api, self._configuration)


def _token(urn: str) -> str:
    # urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME
    return urn.split("::")[2].rpartition("$")[2]


def _name(urn: str) -> str:
    return urn.split("::", 3)[3]


def _kind(urn: str) -> Kind:
    token = _token(urn)
    kind = all_kinds().get(token)
    if kind is None:
        raise ProviderError(
            f"the rehearsal's stand-in for the gcp plugin does not know {token}; it knows "
            f"{', '.join(sorted(all_kinds()))}"
        )
    return kind


def _name_is_chosen(kind: Kind, inputs: Mapping[str, Any]) -> bool:
    defaulted = inputs.get("__defaults")
    return kind.name_property is not None and defaulted is not None and kind.name_property not in defaulted


def _without_ignored(olds: Mapping[str, Any], news: Mapping[str, Any], ignored: tuple[str, ...]) -> Properties:
    """The inputs, top-level properties that are to be left alone taken from the state."""
    made = dict(news)
    for name in ignored:
        if name in olds:
            made[name] = olds[name]
        else:
            made.pop(name, None)
    return made
