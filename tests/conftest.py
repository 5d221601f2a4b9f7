"""Shared fixtures. ``fixtures/`` holds everything tests need; ``../shared`` adds more cases where it exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault of what is tested.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """Folder of bundled real cases and samples."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the wider collection; tests that sweep it skip where it is absent."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the wider collection is not on this machine")
    return path
