"""The local engine keeps the contract, in each mode."""

from __future__ import annotations

import pytest

from engines.base import Launch
from pools.models import ENGINE_IMAGES
from tests.engines.contract import EngineContract
from tests.engines.contract_keeping import KeepingContract
from tests.engines.contract_logs import LogContract


class TestLocalEngine(EngineContract, LogContract, KeepingContract):
    """`stand` comes from conftest."""

    @pytest.mark.parametrize("image", ENGINE_IMAGES["local"])
    def test_it_runs_every_image_that_its_pools_are_said_to_run(self, stand, image):
        told = stand.launch("echo ran")
        stand.engine.start(Launch(told.key, told.command, image, (), told.workers))
        look = stand.end(told.key)
        assert (look.exit_code, look.fault, stand.log()) == (0, None, "ran\n")

    def test_protection_tells_the_mode(self, stand):
        told = stand.engine.protection()
        assert (told.mode, told.safe) == (stand.mode, stand.mode == "bubblewrap")
