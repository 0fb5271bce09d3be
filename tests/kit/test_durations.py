"""A meter forgets what was taken, and counts what several threads note."""

import threading

from fairlead.kit.durations import DurationMeter, Durations


def test_what_was_taken_is_not_taken_again():
    meter = DurationMeter()
    meter.note(0.25)
    meter.note(0.5)
    assert meter.take() == Durations(2, 0.75, 0.5)
    assert meter.take() == Durations()


def test_no_note_is_lost_between_threads():
    meter = DurationMeter()
    threads = [threading.Thread(target=lambda: [meter.note(1.0) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    taken = [meter.take().count for _ in range(50)]
    for thread in threads:
        thread.join()
    assert sum(taken) + meter.take().count == 2000
