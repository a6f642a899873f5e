"""Reads what a test needs of a file for XProf: an XSpace of Protocol Buffers, whose fields xplane.proto numbers."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "check"))
from proto_fields import fields  # noqa: E402


def all_of(message, number):
    return [value for n, value in fields(message) if n == number]


def first_of(message, number, default=0):
    return next(iter(all_of(message, number)), default)


def begins_of(path, name):
    """The times at which events of this name begin, in nanoseconds since 1970."""
    planes, start, begins = all_of(path.read_bytes(), 1), 0, []
    for plane in planes:
        stats = {first_of(entry, 1): first_of(first_of(entry, 2, b""), 2, b"") for entry in all_of(plane, 5)}
        for stat in all_of(plane, 6):
            if stats.get(first_of(stat, 1)) == b"profile_start_time":
                start = first_of(stat, 3)
    for plane in planes:
        names = {first_of(entry, 1): first_of(first_of(entry, 2, b""), 2, b"") for entry in all_of(plane, 4)}
        for line in all_of(plane, 3):
            origin = first_of(line, 3)
            for event in all_of(line, 4):
                if names.get(first_of(event, 1)) == name.encode():
                    begins.append(origin + first_of(event, 2) // 1000)
    # Lines begin at 1970 or at the start of the profile.
    return sorted(b if b >= start else start + b for b in begins)
