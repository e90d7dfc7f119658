"""What waits to be written tells whether what comes in can be taken in."""

import pytest

from headwater.algebra.capacity.storage_monitor import StorageMonitor

MB = 1_000_000


def looked(*waits, taken_each=MB, every_s=2.0):
    monitor, taken = StorageMonitor(), 0
    for at, waiting in enumerate(waits):
        monitor = monitor.look(waiting_bytes=waiting, taken_bytes=taken, now_s=at * every_s)
        taken += taken_each
    return monitor


def test_what_does_not_grow_holds_nothing_up():
    assert looked(0, 0, 0).bytes_per_s is None
    assert looked(MB, MB, MB).bytes_per_s is None
    assert looked(0, 100, 2_000).bytes_per_s is None, "that is the batch that is being written"


def test_where_it_grows_what_is_taken_in_is_all_that_can_be():
    monitor = looked(0, MB, 2 * MB, 3 * MB)
    assert monitor.bytes_per_s == pytest.approx(MB / 2.0)
    assert monitor.ratio == pytest.approx(0.5), "twice as much comes"


def test_while_it_shrinks_it_is_not_forgotten_and_then_it_is():
    assert looked(0, 2 * MB, MB).bytes_per_s == pytest.approx(MB / 2.0)
    assert looked(0, 2 * MB, MB, 0).bytes_per_s is None


def test_a_store_that_stands_still_takes_nothing():
    assert looked(0, MB, 2 * MB, taken_each=0).bytes_per_s == 0.0


def test_looks_that_come_too_soon_and_clocks_that_are_set_back_see_nothing():
    monitor = looked(0, MB, every_s=0.1)
    assert monitor.bytes_per_s is None
    assert monitor.waiting_bytes == 0
    back = looked(0, MB).look(waiting_bytes=9 * MB, taken_bytes=0, now_s=-5.0)
    assert back.bytes_per_s is None
