"""The bytes of summary-cache's digest protocol: keys, positions and frames, as docs/protocol.md describes them.

A second implementation, plain and slow, of the standard library alone. A digest is a set of positions here.
"""

import json
import re
import struct
import sys
from typing import NamedTuple, Optional
from urllib.parse import quote

from filter_reader import murmur3

M32 = 0xFFFFFFFF
WANT, SNAPSHOT, DELTA, TURNOVER, HEARTBEAT, GOODBYE = 1, 2, 3, 4, 5, 6
KINDS = {1: "want", 2: "snapshot", 3: "delta", 4: "turnover", 5: "heartbeat", 6: "goodbye"}


class Malformed(Exception):
    """Bytes that are no frame, or none that is known here."""


class Name(NamedTuple):
    incarnation: int
    generation: int
    sequence: int


class State(NamedTuple):
    name: Name
    bits: int
    probes: int
    set_bits: int
    entries: int
    age_ms: int
    checksum: tuple


class Frame(NamedTuple):
    kind: str
    name: Optional[Name] = None
    state: Optional[State] = None
    origin: Optional[Name] = None
    until: Optional[int] = None
    set: frozenset = frozenset()
    clear: frozenset = frozenset()
    size: int = 0


# From a URL to bits


def normal_url(url):
    whole = re.match(r"(https?)://([^/?#]*)([^#]*)", url, re.I)
    place = whole and re.match(r"(\[[^\]]+\]|[^:\[\]]+)(?::([0-9]*))?$", whole[2].rsplit("@", 1)[-1])
    if not place:
        raise Malformed("no URL of an object")
    (scheme, _, path), (host, port) = whole.groups(), place.groups()
    host, scheme = host.lower().rstrip("."), scheme.lower()
    port = (port or "").lstrip("0")
    own = {"http": "80", "https": "443"}[scheme]
    path = quote(re.sub(r"[ \t]", "", path), safe="".join(chr(c) for c in range(0x21, 0x7F)))
    path = path if path.startswith("/") else "/" + path
    return f"{scheme}://{host}{'' if port in ('', own) else ':' + port}{path}"


def positions_of(url, bits, probes):
    h0, h1, _, _ = murmur3(b"GET " + normal_url(url).encode())
    probe, step, found = h0, h1 | 1, []
    for i in range(probes):
        found.append(probe % bits)
        probe, step = (probe + step) & M32, (step + i + 1) & M32
    return set(found)


def mixed(index):
    h = index ^ 0x9E3779B9
    h = (h ^ (h >> 16)) * 0x85EBCA6B & M32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & M32
    low = index ^ 0xD1B54A33
    low = (low ^ (low >> 16)) * 0x21F0AAAD & M32
    low = (low ^ (low >> 15)) * 0x735A2D97 & M32
    return h ^ (h >> 16), low ^ (low >> 15)


def checksum(positions):
    hi = lo = 0
    for position in positions:
        h, low = mixed(position)
        hi, lo = hi ^ h, lo ^ low
    return hi, lo


def proves(state, positions):
    return len(positions) == state.set_bits and checksum(positions) == state.checksum


# Positions


def encode_gaps(positions):
    ordered = sorted(positions)
    if not ordered:
        return b""
    gaps = [b - a - 1 for a, b in zip([-1] + ordered, ordered)]
    r = min(range(31), key=lambda r: sum((gap >> r) + 1 + r for gap in gaps))
    text = "".join("1" * (gap >> r) + "0" + (format(gap & ((1 << r) - 1), f"0{r}b") if r else "") for gap in gaps)
    text += "0" * (-len(text) % 8)
    return bytes([r]) + int(text, 2).to_bytes(len(text) // 8, "big")


def decode_gaps(data, count, bits):
    if count == 0:
        if data:
            raise Malformed("bytes without positions")
        return frozenset()
    if len(data) < 2 or data[0] > 30 or count * (data[0] + 1) > 8 * (len(data) - 1):
        raise Malformed("gap code")
    r, found, last, at = data[0], [], -1, 0
    text = format(int.from_bytes(data[1:], "big"), f"0{8 * (len(data) - 1)}b")
    for _ in range(count):
        end = text.find("0", at)
        if end < 0 or end + 1 + r > len(text):
            raise Malformed("gap code ends too early")
        gap = ((end - at) << r) + (int(text[end + 1 : end + 1 + r], 2) if r else 0)
        at, last = end + 1 + r, last + gap + 1
        if last >= bits:
            raise Malformed("a position outside the digest")
        found.append(last)
    if len(text) - at >= 8 or "1" in text[at:]:
        raise Malformed("bits behind the positions")
    return frozenset(found)


# Coded bytes


def decode_rans(data, count):
    if len(data) < 22:
        raise Malformed("coded bytes end too early")
    frequencies = struct.unpack(">9H", data[:18])
    order = sorted(range(256), key=lambda byte: (bin(byte).count("1"), byte))
    starts, total, owner = {}, 0, []
    for byte in order:
        frequency = frequencies[bin(byte).count("1")]
        starts[byte] = total
        owner += [byte] * frequency
        total += frequency
    if total != 65536:
        raise Malformed(f"frequencies that sum to {total}")
    x, at, out = struct.unpack(">I", data[-4:])[0], len(data) - 5, bytearray()
    if not 2**23 <= x < 2**31:
        raise Malformed("a state out of range")
    for _ in range(count):
        byte = owner[x % 65536]
        x = frequencies[bin(byte).count("1")] * (x // 65536) + x % 65536 - starts[byte]
        while x < 2**23:
            if at < 18:
                raise Malformed("coded bytes end too early")
            x, at = 256 * x + data[at], at - 1
        out.append(byte)
    if x != 2**23 or at != 17:
        raise Malformed("coded bytes that do not come out even")
    return bytes(out)


def positions_in(raw):
    return frozenset(8 * i + b for i, byte in enumerate(raw) if byte for b in range(8) if byte >> b & 1)


# Frames


def head(kind, flags=0):
    return b"SCD\1" + bytes([kind, flags])


def encode_name(name):
    return struct.pack(">QII", *name)


def encode_state(state):
    hashing = (1, 1, state.probes, state.bits.bit_length() - 1, 0)
    return encode_name(state.name) + struct.pack(
        ">BBBBIIIIII", *hashing, state.set_bits, state.entries, min(state.age_ms, M32), *state.checksum
    )


def encode_want(have=None, until=None):
    if have is None:
        return head(WANT)
    if until is None:
        return head(WANT, 1) + encode_name(have)
    return head(WANT, 3) + encode_name(have) + struct.pack(">I", until)


def encode_snapshot(state, positions):
    return head(SNAPSHOT, 1) + encode_state(state) + encode_gaps(positions)


def encode_delta(from_sequence, state, positions):
    gaps = encode_gaps(positions)
    return head(DELTA) + encode_state(state) + struct.pack(">II", from_sequence, len(positions)) + gaps


def encode_turnover(origin, state, rises, falls):
    first, second = encode_gaps(rises), encode_gaps(falls)
    counts = struct.pack(">IIIII", origin.generation, origin.sequence, len(rises), len(falls), len(first))
    return head(TURNOVER) + encode_state(state) + counts + first + second


def encode_heartbeat(state):
    return head(HEARTBEAT) + encode_state(state)


def encode_goodbye(name):
    return head(GOODBYE) + encode_name(name)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        size = struct.calcsize(form)
        if self.at + size > len(self.data):
            raise Malformed("ends too early")
        values = struct.unpack(form, self.data[self.at : self.at + size])
        self.at += size
        return values

    def rest(self, count=None):
        count = len(self.data) - self.at if count is None else count
        if self.at + count > len(self.data):
            raise Malformed("ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self):
        return Name(*self.take(">QII"))

    def state(self, max_bits):
        name = self.name()
        scheme, rules, probes, log, key, set_bits, entries, age, hi, lo = self.take(">BBBBIIIIII")
        if (scheme, rules, key) != (1, 1, 0) or not 1 <= probes <= 16 or not 6 <= log <= 31:
            raise Malformed("a geometry that is not known")
        if 2**log > max_bits or set_bits > 2**log:
            raise Malformed("a digest that is larger than accepted")
        return State(name, 2**log, probes, set_bits, entries, age, (hi, lo))


def decode(data, max_bits=2**24):
    reader = Reader(data)
    magic, form, kind, flags = reader.take(">3sBBB")
    if magic != b"SCD" or form != 1 or kind not in KINDS:
        raise Malformed(f"format {form}, type {kind}")
    known = {WANT: (0, 1, 3), SNAPSHOT: (0, 1, 2)}.get(kind, (0,))
    if flags not in known:
        raise Malformed(f"flags {flags}")
    if kind == WANT:
        name = reader.name() if flags else None
        frame = Frame("want", name=name, until=reader.take(">I")[0] if flags == 3 else None)
    elif kind == GOODBYE:
        frame = Frame("goodbye", name=reader.name())
    else:
        frame = decode_state(reader, kind, flags, max_bits)
    if reader.at != len(data):
        raise Malformed("bytes behind the end")
    return frame._replace(size=len(data))


def decode_state(reader, kind, flags, max_bits):
    state = reader.state(max_bits)
    bits, name = state.bits, state.name
    if kind == HEARTBEAT:
        return Frame("heartbeat", name=name, state=state)
    if kind == SNAPSHOT:
        if flags == 1:
            return Frame("snapshot", name=name, state=state, set=decode_gaps(reader.rest(), state.set_bits, bits))
        raw = decode_rans(reader.rest(), bits // 8) if flags == 2 else reader.rest(bits // 8)
        return Frame("snapshot", name=name, state=state, set=positions_in(raw))
    if kind == DELTA:
        start, count = reader.take(">II")
        if start >= name.sequence:
            raise Malformed("a delta that does not lead on")
        rises = decode_gaps(reader.rest(), count, bits)
        return Frame("delta", name=name, state=state, origin=name._replace(sequence=start), set=rises)
    generation, sequence, rises, falls, first = reader.take(">IIIII")
    if generation >= name.generation:
        raise Malformed("a turnover that does not lead on")
    origin = Name(name.incarnation, generation, sequence)
    rising = decode_gaps(reader.rest(first), rises, bits)
    return Frame("turnover", name=name, state=state, origin=origin, set=rising, clear=decode_gaps(reader.rest(), falls, bits))


def check(vectors):
    """Reads and writes every vector; raises AssertionError where it comes out otherwise."""
    for key in vectors["keys"]:
        for bits, positions in key["positions"].items():
            assert "".join(f"{word:08x}" for word in murmur3(b"GET " + normal_url(key["url"]).encode())) == key["hash"], key
            assert positions_of(key["url"], int(bits), len(positions)) == set(positions), key["url"]
    for gaps in vectors["gaps"]:
        assert encode_gaps(gaps["positions"]).hex() == gaps["hex"], gaps
        found = decode_gaps(bytes.fromhex(gaps["hex"]), len(gaps["positions"]), 2**31)
        assert sorted(found) == gaps["positions"], gaps
    for vector in vectors["frames"]:
        frame = decode(bytes.fromhex(vector["hex"]))
        assert frame.kind == vector["kind"], vector
        for found, positions in zip((frame.set, frame.clear), vector["positions"]):
            assert sorted(found) == positions, vector
        state = frame.state
        again = {
            "want": lambda: encode_want(frame.name, frame.until),
            "delta": lambda: encode_delta(frame.origin.sequence, state, frame.set),
            "turnover": lambda: encode_turnover(frame.origin, state, frame.set, frame.clear),
            "heartbeat": lambda: encode_heartbeat(state),
            "goodbye": lambda: encode_goodbye(frame.name),
        }.get(frame.kind)
        assert again is None or again().hex() == vector["hex"], vector
        assert frame.kind != "snapshot" or proves(state, frame.set), vector
    return {"keys": len(vectors["keys"]), "frames": len(vectors["frames"])}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(json.dumps(check(json.load(file))))
