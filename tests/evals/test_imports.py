"""The garbage collector pauses while packages are imported, and is as before afterwards."""

from __future__ import annotations

import gc
import sys
import types

import pytest

from evals.imports import uncollected


def test_the_collector_rests_in_the_block_and_is_then_as_before():
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), uncollected():
        raise ImportError("no such package")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_objects_are_excluded_from_collections_only_if_something_was_imported(monkeypatch):
    gc.unfreeze()
    with uncollected():
        pass
    assert gc.get_freeze_count() == 0
    with uncollected():
        monkeypatch.setitem(sys.modules, "made_by_this_test", types.ModuleType("made_by_this_test"))
    assert gc.get_freeze_count() > 0
    gc.unfreeze()
