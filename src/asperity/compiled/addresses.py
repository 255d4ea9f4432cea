"""What holds addresses in memory, and so cannot be copied by Python."""

from __future__ import annotations

from typing import Any, SupportsIndex

__all__ = ["HoldsAddresses"]


class HoldsAddresses:
    """Refuses to be copied or pickled: the copy would write into the memory of the original.

    A `asperity.Simulator`, whose parts these are, knows how to make itself again.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        raise TypeError(
            f"{type(self).__name__} holds addresses in memory and cannot be copied or pickled by "
            "itself; copy or pickle its Simulator."
        )
