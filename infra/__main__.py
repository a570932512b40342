"""A stack of TPU pods: settings in, components built, exports out. Decisions are made by what this file calls."""

from components.access import Access
from components.identity import Identity
from components.network import Network
from components.pod import Pod
from exports import export
from placement import place
from preflight import survey
from stack_settings import read_stack

stack = read_stack()
placements = place(stack, survey(stack))

network = Network(stack, placements)
identity = Identity(stack)
access = Access(stack, network)
pods = [Pod(stack, placement, network, identity) for placement in placements]

export(stack, pods, access)
