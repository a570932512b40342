"""`python -m rehearsal.provider [ENGINE_ADDRESS]`: the plugin's process."""

import sys

from rehearsal.engine.plugin_messages import use_messages_only

use_messages_only()

from pulumi.runtime.proto import provider_pb2_grpc  # noqa: E402

from rehearsal.engine.plugin_process import serve  # noqa: E402
from rehearsal.provider.servicer import Provider  # noqa: E402

# A create that waits holds a thread; the engine starts up to four times the processors' number at once.
_THREADS = 64


def main() -> None:
    """Serve until the engine ends."""
    positional = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    provider = Provider(positional[0] if positional else "")
    serve(
        lambda server: provider_pb2_grpc.add_ResourceProviderServicer_to_server(provider, server),
        provider.cancel,
        _THREADS,
    )


if __name__ == "__main__":
    main()
