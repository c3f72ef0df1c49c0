"""The local engine keeps the contract, in each mode."""

from __future__ import annotations

from tests.engines.contract import EngineContract
from tests.engines.contract_keeping import KeepingContract
from tests.engines.contract_logs import LogContract


class TestLocalEngine(EngineContract, LogContract, KeepingContract):
    """`stand` comes from conftest."""

    def test_protection_tells_the_mode(self, stand):
        told = stand.engine.protection()
        assert (told.mode, told.safe) == (stand.mode, stand.mode == "bubblewrap")
