"""Internal addresses of a subnetwork, shared by TPU workers and instances."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_network
from itertools import islice

from rehearsal.emulator.store import NameTaken, Store


class NoRoom(Exception):
    """The subnetwork has too few free addresses. `free` tells how many there are."""

    def __init__(self, subnetwork: str, wanted: int, free: int) -> None:
        super().__init__(f"{subnetwork} has {free} free addresses, {wanted} are needed.")
        self.subnetwork, self.wanted, self.free = subnetwork, wanted, free


class AddressTaken(Exception):
    """The wanted address is held by another, is reserved by Google, or is outside of the range."""


class Addresses:
    """Hands out addresses. A holder is a host key: "projects/P/zones/Z/instances/bastion"."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allocate(self, subnetwork: str, ip_cidr_range: str, holders: list[str]) -> list[str]:
        """The lowest free addresses, one for each holder, all or none; a holder keeps what it has.

        Raises NoRoom. Google reserves the first two and the last two addresses of a range.
        """
        with self._store.transaction():
            taken = self._store.addresses(subnetwork)
            held = {holder: ip for ip, holder in taken.items()}
            missing = [holder for holder in holders if holder not in held]
            network = ip_network(ip_cidr_range)
            usable = (str(network[index]) for index in range(2, network.num_addresses - 2))
            fresh = list(islice((ip for ip in usable if ip not in taken), len(missing)))
            if len(fresh) < len(missing):
                raise NoRoom(subnetwork, len(missing), len(fresh))
            for holder, ip in zip(missing, fresh, strict=True):
                self._store.add_address(subnetwork, ip, holder)
                held[holder] = ip
            return [held[holder] for holder in holders]

    def claim(self, subnetwork: str, ip_cidr_range: str, ip: str, holder: str) -> None:
        """Take one address of the caller's choice. Raises AddressTaken."""
        network = ip_network(ip_cidr_range)
        address = IPv4Address(ip)
        if address not in network or int(address) - int(network[0]) not in range(2, network.num_addresses - 2):
            raise AddressTaken(ip)
        if self._store.addresses(subnetwork).get(ip) == holder:
            return
        try:
            self._store.add_address(subnetwork, ip, holder)
        except NameTaken:
            raise AddressTaken(ip) from None

    def release(self, holder: str) -> None:
        """Give back all addresses of a holder."""
        self._store.drop_addresses(holder)

    def holders(self, subnetwork: str) -> dict[str, str]:
        """Host key by address: who uses the subnetwork."""
        return self._store.addresses(subnetwork)

    def of(self, holder: str) -> str | None:
        """The address of a holder, or None."""
        held = self._store.held_by(holder)
        return held[0][1] if held else None
