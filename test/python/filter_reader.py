"""Reads filters of summary-cache's binary format, version 1, as docs/filters.md describes it, and looks keys up in them.

A second implementation, plain and slow, of the standard library alone. Run as a program it takes a file of vectors and
prints what it answers to each as JSON.
"""

import base64
import hashlib
import json
import struct
import sys

M32 = 0xFFFFFFFF
M64 = 0xFFFFFFFFFFFFFFFF
HEADER = 36


class Malformed(Exception):
    """Bytes that are no filter, or none that is known here or can be asked without its secret."""


# Hashes: four 32-bit words of a key's bytes.


def rotl32(x, r):
    return ((x << r) | (x >> (32 - r))) & M32


def fmix32(h):
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & M32
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & M32
    return h ^ (h >> 16)


def murmur3(data):
    c = [0x239B961B, 0xAB0E9789, 0x38B34AE5, 0xA1E38B93]
    inner, outer = [15, 16, 17, 18], [19, 17, 15, 13]
    plus = [0x561CCD1B, 0x0BCAA747, 0x96CD1C35, 0x32AC3B17]
    h = [0, 0, 0, 0]
    padded = data + b"\0" * (-len(data) % 16)
    for at in range(0, len(padded), 16):
        words = struct.unpack_from("<4I", padded, at)
        for i in range(4):
            h[i] ^= (rotl32((words[i] * c[i]) & M32, inner[i]) * c[(i + 1) % 4]) & M32
            if at + 16 <= len(data):
                h[i] = ((rotl32(h[i], outer[i]) + h[(i + 1) % 4]) * 5 + plus[i]) & M32
    h = [x ^ len(data) for x in h]

    def spread():
        h[0] = sum(h) & M32
        for i in range(1, 4):
            h[i] = (h[i] + h[0]) & M32

    spread()
    h[:] = map(fmix32, h)
    spread()
    return h


def md5_words(data, count):
    words = []
    repeats = 0
    while len(words) < count:
        repeats += 1
        words += struct.unpack(">4I", hashlib.md5(data * repeats).digest())
    return words


def siphash128(secret, data):
    k0, k1 = struct.unpack("<2Q", secret)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotl(x, r):
        return ((x << r) | (x >> (64 - r))) & M64

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & M64
            v[1] = rotl(v[1], 13) ^ v[0]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & M64
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & M64
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & M64
            v[1] = rotl(v[1], 17) ^ v[2]
            v[2] = rotl(v[2], 32)

    whole = len(data) // 8
    last = int.from_bytes(data[8 * whole :], "little") | ((len(data) & 0xFF) << 56)
    for m in list(struct.unpack_from("<%dQ" % whole, data)) + [last]:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xEE
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return list(struct.unpack("<4I", struct.pack("<2Q", first, v[0] ^ v[1] ^ v[2] ^ v[3])))


def seeded(h, seed):
    s = [fmix32((4 * seed + i + 1) & M32) for i in range(4)]
    t = sum(h[i] * (s[i] | 1) for i in range(4)) & M32
    return [fmix32(((h[i] + t) & M32) ^ s[i]) for i in range(4)]


# The format.


class Record:
    def __init__(self, data):
        if len(data) < HEADER + 8:
            raise Malformed("too few bytes")
        if data[:3] != b"SCF":
            raise Malformed("it does not begin with SCF")
        if data[3] != 1:
            raise Malformed("unknown version %d" % data[3])
        self.kind, self.scheme, self.rules = data[4], data[5], data[6]
        if data[7] != 0:
            raise Malformed("unknown flags %d" % data[7])
        numbers = struct.unpack_from(">7I", data, 8)
        self.key_id, self.entries, self.parameters = numbers[0], numbers[1], numbers[2:6]
        size = HEADER + numbers[6]
        if len(data) != size + 8:
            raise Malformed("%d bytes, where its head says %d" % (len(data), size + 8))
        if self.scheme not in (1, 2, 3):
            raise Malformed("unknown hash scheme %d" % self.scheme)
        if self.rules not in (0, 1):
            raise Malformed("unknown cache-key rules %d" % self.rules)
        if (self.scheme == 3) != (self.key_id != 0):
            raise Malformed("key %d for hash scheme %d" % (self.key_id, self.scheme))
        if struct.pack(">2I", *murmur3(data[:size])[:2]) != data[size:]:
            raise Malformed("its checksum is wrong")
        self.body = data[HEADER:size]
        self.head = [self.kind, self.scheme, self.rules, self.key_id, *self.parameters]


def need(condition, problem):
    if not condition:
        raise Malformed(problem)


def body_bits(record, count):
    """The body as one integer whose bit b is bit b of the filter."""
    need(len(record.body) == (count + 7) // 8, "a body of %d bytes for %d bits" % (len(record.body), count))
    bits = int.from_bytes(record.body, "little")
    need(bits >> count == 0, "bits behind its end are set")
    return bits


class Bloom:
    def __init__(self, record):
        self.m, self.k, set_bits, unused = record.parameters
        need(1 <= self.m <= 2**31 and 1 <= self.k <= 16 and unused == 0, "parameters out of range")
        self.scheme, self.entries = record.scheme, record.entries
        self.bits = self.read(record)
        need(bin(self.bits).count("1") == set_bits, "a number of set bits that is wrong")
        self.check_counts(record.entries, set_bits)

    def read(self, record):
        return body_bits(record, self.m)

    def check_counts(self, entries, set_bits):
        need((entries == 0) == (set_bits == 0) and set_bits <= entries * self.k, "set bits that do not fit the entries")

    def positions(self, h):
        if self.scheme == 2:
            return [word % self.m for word in h[: self.k]]
        probe, step, out = h[0], h[1] | 1, []
        for i in range(self.k):
            out.append(probe % self.m if self.m & (self.m - 1) == 0 else fmix32(probe) * self.m >> 32)
            probe = (probe + step) & M32
            step = (step + i + 1) & M32
        return out

    def may_contain(self, h):
        return all(self.bits >> position & 1 for position in self.positions(h))


class CountingBloom(Bloom):
    def read(self, record):
        nibbles = body_bits(record, 4 * self.m)
        self.counters = [nibbles >> 4 * i & 15 for i in range(self.m)]
        return sum(1 << i for i, counter in enumerate(self.counters) if counter)

    def check_counts(self, entries, set_bits):
        total = sum(self.counters)
        stuck = 15 * self.counters.count(15)
        need(total - stuck <= entries * self.k and (stuck or total >= entries), "counters that do not fit the entries")


class BlockedBloom(Bloom):
    def read(self, record):
        self.blocks = self.m
        need(self.blocks <= 2**22, "parameters out of range")
        return body_bits(record, 512 * self.blocks)

    def positions(self, h):
        base = 512 * (h[0] * self.blocks >> 32)
        out = []
        for i in range(self.k):
            group, place = divmod(i, 3)
            word = h[1] if group == 0 else fmix32(((h[2], h[3])[group - 1] if group < 3 else h[1]) + group * 0x9E3779B9 & M32)
            out.append(base + (word >> 23 - 9 * place & 511))
        return out


class ScalableBloom:
    def __init__(self, record):
        count, self.first, rate_bits, unused = record.parameters
        (rate,) = struct.unpack(">f", struct.pack(">I", rate_bits))
        need(1 <= count <= 32 and 1 <= self.first <= 2**31 and 0 < rate < 1 and unused == 0, "parameters out of range")
        need(record.scheme != 2, "no MD5 form")
        self.slices, at = [], 0
        for i in range(count):
            need(len(record.body) - at >= HEADER, "slice %d ends too early" % i)
            size = HEADER + struct.unpack_from(">I", record.body, at + 32)[0] + 8
            inner = Record(record.body[at : at + size])
            need(inner.kind == 1, "slice %d is no Bloom filter" % i)
            same = (inner.scheme, inner.rules, inner.key_id) == (record.scheme, record.rules, record.key_id)
            need(same, "slice %d is hashed in another way" % i)
            full = self.first * 2**i
            need(inner.entries == full or (i == count - 1 and inner.entries < full), "slices that do not follow")
            self.slices.append(Bloom(inner))
            at += size
        need(at == len(record.body), "bytes behind the last slice")
        need(sum(bloom.entries for bloom in self.slices) == record.entries, "slices that do not fit the entries")

    def may_contain(self, h):
        return any(bloom.may_contain(seeded(h, i)) for i, bloom in enumerate(self.slices))


class Slots:
    def __init__(self, record, count, width):
        self.bits, self.width, self.mask = body_bits(record, count * width), width, (1 << width) - 1

    def __getitem__(self, index):
        return self.bits >> index * self.width & self.mask


class Cuckoo:
    def __init__(self, record):
        self.buckets, self.p, chooser, unused = record.parameters
        need(self.buckets >= 1 and 4 <= self.p <= 32 and chooser != 0 and unused == 0, "parameters out of range")
        self.slots = Slots(record, 4 * self.buckets, self.p)
        used = sum(self.slots[i] != 0 for i in range(4 * self.buckets))
        need(used == record.entries, "slots in use that do not fit the entries")

    def may_contain(self, h):
        fingerprint = 1 + (h[2] * (2**self.p - 1) >> 32)
        bucket = h[0] * self.buckets >> 32
        other = ((fmix32(fingerprint) * self.buckets >> 32) - bucket) % self.buckets
        return any(self.slots[4 * b + i] == fingerprint for b in (bucket, other) for i in range(4))


class Xor:
    def __init__(self, record):
        self.p, self.length, self.seed, unused = record.parameters
        need(1 <= self.p <= 32 and unused == 0, "parameters out of range")
        self.slots = Slots(record, 3 * self.length, self.p)
        self.empty = record.entries == 0
        need(self.empty == (self.length == 0) and record.entries <= 3 * self.length, "slots that do not fit the entries")

    def may_contain(self, h):
        if self.empty:
            return False
        w = seeded(h, self.seed)
        found = 0
        for i in range(3):
            found ^= self.slots[i * self.length + (w[i] * self.length >> 32)]
        return found == w[3] & self.slots.mask


class BinaryFuse:
    def __init__(self, record):
        self.p, self.length, self.segments, self.seed = record.parameters
        need(1 <= self.p <= 32, "parameters out of range")
        need(1 <= self.length <= 2**18 and self.length & (self.length - 1) == 0, "segments out of range")
        need(self.segments == 0 or self.segments >= 3, "segments out of range")
        slots = self.length * self.segments
        self.slots = Slots(record, slots, self.p)
        self.empty = record.entries == 0
        need(self.empty == (slots == 0) and record.entries <= slots, "segments that do not fit the entries")

    def may_contain(self, h):
        if self.empty:
            return False
        w = seeded(h, self.seed)
        low = self.length - 1
        first = w[0] * ((self.segments - 2) * self.length) >> 32
        found = self.slots[first]
        found ^= self.slots[first + self.length ^ w[1] & low]
        found ^= self.slots[first + 2 * self.length ^ w[2] & low]
        return found == w[3] & self.slots.mask


class Ribbon:
    def __init__(self, record):
        self.r, self.m, self.seed, unused = record.parameters
        need(1 <= self.r <= 32 and self.m % 32 == 0 and unused == 0, "parameters out of range")
        self.empty = record.entries == 0
        need(self.empty == (self.m == 0) and record.entries <= self.m, "slots that do not fit the entries")
        need(self.m == 0 or self.m > 128, "slots out of range")
        bits = body_bits(record, self.r * self.m)
        self.columns = [0] * self.r
        for block in range(self.m // 32):
            for j in range(self.r):
                self.columns[j] |= (bits >> 32 * (block * self.r + j) & M32) << 32 * block

    def may_contain(self, h):
        if self.empty:
            return False
        w = seeded(h, self.seed)
        start = w[0] * (self.m - 128) >> 32
        coefficients = w[1] | 1 | w[2] << 32 | w[3] << 64 | fmix32(w[0] + w[2] & M32) << 96
        result = fmix32(w[1] + w[3] & M32)
        return all(
            bin(column >> start & coefficients).count("1") & 1 == result >> j & 1 for j, column in enumerate(self.columns)
        )


KINDS = {1: Bloom, 2: CountingBloom, 3: BlockedBloom, 4: ScalableBloom, 5: Cuckoo, 6: Xor, 7: BinaryFuse, 8: Ribbon}


class Filter:
    def __init__(self, data, secret=None):
        self.record = Record(data)
        if self.record.kind not in KINDS:
            raise Malformed("unknown kind %d" % self.record.kind)
        if self.record.scheme == 3 and (secret is None or len(secret) != 16):
            raise Malformed("no secret of 16 bytes for key %d" % self.record.key_id)
        self.secret = secret
        self.filter = KINDS[self.record.kind](self.record)

    def may_contain(self, key):
        scheme = self.record.scheme
        if scheme == 2:
            h = md5_words(key, max(4, getattr(self.filter, "k", 4)))
        else:
            h = murmur3(key) if scheme == 1 else siphash128(self.secret, key)
        return self.filter.may_contain(h)


def answer(vector, keys):
    secret = bytes.fromhex(vector["secret"]) if vector.get("secret") else None
    try:
        loaded = Filter(base64.b64decode(vector["filter"]), secret)
    except Malformed as problem:
        return {"name": vector["name"], "refused": str(problem)}
    return {
        "name": vector["name"],
        "head": loaded.record.head,
        "entries": loaded.record.entries,
        "answers": "".join("1" if loaded.may_contain(bytes.fromhex(key)) else "0" for key in keys),
    }


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)
    keys = vectors["members"] + vectors["strangers"]
    json.dump([answer(vector, keys) for vector in vectors["filters"]], sys.stdout)
