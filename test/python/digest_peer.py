"""A peer of summary-cache in Python, written from docs/protocol.md: it publishes a digest, follows those of others, answers
and asks for objects. Its store is a dictionary.

    python3 digest_peer.py --name p --port 0 --follow a=http://127.0.0.1:3128

Commands are lines of JSON on standard input, answers lines of JSON on standard output:
    ["add", url, body]  ["remove", url]  ["publish"]  ["generation"]  ["dump"]  ["follow", name, url]
    ["get", url]: from a peer whose digest claims it  ["ask", peer, url]: from that one, whatever its digest says
With the end of the input it says goodbye and ends.
"""

import argparse
import http.client
import json
import random
import re
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote, urlsplit

import digest_codec as codec
from digest_codec import Malformed, Name, State

PREFIX = "/.well-known/summary-cache/"
BITS, PROBES = 2**14, 4
HEARTBEAT_S = 5
MAX_BITS, MAX_FILL = 16 * BITS, 0.9
MAX_WAITING = 64
MAX_ASKED = 2
MAX_FOLLOWERS, MAX_UNREAD = 1024, 2**20
WRITE_S = 10
MAX_FRAME = MAX_BITS // 8 + 128  # a snapshot, bit for bit
SNAPSHOT_KEPT_S = 30
MAX_SNAPSHOT_READS = 8
FIRST_PAUSE_S, LAST_PAUSE_S = 0.25, 10


class Publisher:
    """Our own digest: what is held, what was published of it, and the steps between."""

    def __init__(self, name):
        self.name = name
        self.lock = threading.RLock()
        self.held = {}
        self.state_name = Name(int(time.time() * 1000), 0, 0)
        self.published = set()
        self.changed_at = None  # since when there is something to publish
        self.steps = []  # origin, frame
        self.followers = []  # a queue of frames for each; None ends it
        self.snapshots = {}  # name: when it was last given out whole, frame

    def live(self):
        return set().union(*(codec.positions_of(url, BITS, PROBES) for url in self.held)) if self.held else set()

    def change(self, url, body=None):
        with self.lock:
            self.changed_at = self.changed_at or time.monotonic()
            if body is None:
                self.held.pop(codec.normal_url(url), None)
            else:
                self.held[codec.normal_url(url)] = body

    def state(self):
        age = 0 if self.changed_at is None else int(1000 * (time.monotonic() - self.changed_at))
        check = codec.checksum(self.published)
        return State(self.state_name, BITS, PROBES, len(self.published), len(self.held), age, check)

    def publish(self):
        with self.lock:
            rises = self.live() - self.published
            if not rises:
                self.changed_at = None
                return
            origin = self.state_name
            self.state_name = origin._replace(sequence=origin.sequence + 1)
            self.published |= rises
            self.send(origin, codec.encode_delta(origin.sequence, self.state(), rises))

    def turn_over(self):
        with self.lock:
            live, origin = self.live(), self.state_name
            rises, falls = live - self.published, self.published - live
            self.state_name = Name(origin.incarnation, origin.generation + 1, 0)
            self.published = live
            frame = codec.encode_turnover(origin, self.state(), rises, falls)
            if len(frame) < len(self.snapshot()[1]):
                return self.send(origin, frame)
            self.steps.clear()
            self.tell(codec.encode_heartbeat(self.state()))
            self.changed_at = None

    def send(self, origin, frame):
        self.steps.append((origin, frame))
        # Who lacks more than a snapshot's worth is better off with a snapshot.
        while sum(len(step) for _, step in self.steps) > len(self.snapshot()[1]) and len(self.steps) > 1:
            self.steps.pop(0)
        self.tell(frame)
        self.changed_at = None

    def tell(self, frame):
        with self.lock:
            for queue in self.followers:
                if sum(map(len, filter(None, queue))) > MAX_UNREAD + max(map(len, filter(None, queue)), default=0):
                    queue[:] = [None]
                else:
                    queue.append(frame)

    def answer(self, want, with_snapshot):
        """Steps one by one, where a publisher could also send what they come to."""
        with self.lock:
            have = want.name
            if have == self.state_name:
                return [codec.encode_heartbeat(self.state())]
            starts = [origin for origin, _ in self.steps]
            if have is not None and have in starts:
                frames = [frame for _, frame in self.steps[starts.index(have) :]]
                if want.until is None:
                    return frames
                return [f for f in frames if codec.decode(f).name[1:] <= (have.generation, want.until)]
            if with_snapshot:
                return [self.snapshot()[1]]
            return [codec.encode_heartbeat(self.state())]

    def snapshot(self):
        with self.lock:
            return self.state_name, codec.encode_snapshot(self.state(), self.published)

    def lend_snapshot(self, tag):
        """The name and frame that `tag` names, as long as it is kept, or else that of now; whether it is the one named."""
        with self.lock:
            now = time.monotonic()
            self.snapshots = {n: kept for n, kept in self.snapshots.items() if now - kept[0] <= SNAPSHOT_KEPT_S}
            for name, (_, frame) in self.snapshots.items():
                if tag == etag(name):
                    return name, frame, True
            name, frame = self.snapshot()
            self.snapshots[name] = now, frame
            return name, frame, tag == etag(name)


def etag(name):
    return '"{}.{}.{}"'.format(*name)


class Replica:
    """A peer's digest as it was last proved."""

    def __init__(self):
        self.state, self.bits, self.waiting = None, frozenset(), []
        self.incarnation, self.newest, self.proved_at, self.left = -1, None, 0, False

    def receive(self, frame):
        """Takes a frame in. True: something is lacking."""
        if frame.name.incarnation < self.incarnation:
            if frame.kind == "goodbye":
                return False  # late, of a life that is over
            raise Malformed("an older incarnation")
        if frame.name.incarnation > self.incarnation or frame.kind == "goodbye":
            self.state, self.bits, self.waiting, self.newest = None, frozenset(), [], None
            self.incarnation = frame.name.incarnation
        self.left = frame.kind == "goodbye"
        if self.left:
            return False
        if frame.state.set_bits > MAX_FILL * frame.state.bits:
            raise Malformed("a digest that claims nearly everything")
        self.newest = max(self.newest or frame.name, frame.name)
        if frame.kind == "heartbeat":
            if self.prove(frame.state):
                self.waiting, self.newest = [], frame.name  # nothing follows it
        elif frame.kind == "snapshot":
            if self.state is None or frame.name > self.state.name:
                self.take(frame.state, frame.set)
        elif len(self.waiting) < MAX_WAITING and sum(f.size for f in self.waiting) + frame.size <= MAX_FRAME:
            self.waiting.append(frame)
        while any([self.apply(change) for change in list(self.waiting)]):
            pass
        return self.lacks

    def apply(self, change):
        if self.state is None or change.origin[:2] > self.state.name[:2]:
            return False
        if change.name <= self.state.name:
            self.waiting.remove(change)
            self.prove(change.state)
            return False
        fits = change.origin <= self.state.name and change.origin[:2] == self.state.name[:2]
        fits = fits and (change.state.bits, change.state.probes) == (self.state.bits, self.state.probes)
        if change.kind == "turnover":
            fits = change.origin == self.state.name
        if not fits:
            return False
        self.waiting.remove(change)
        return self.take(change.state, (self.bits | change.set) - change.clear)

    def take(self, state, bits):
        if not codec.proves(state, bits):
            return False
        self.state, self.bits, self.proved_at = state, frozenset(bits), time.monotonic()
        return True

    def prove(self, state):
        held = self.state
        if held and state.name == held.name and (state.set_bits, state.checksum) == (held.set_bits, held.checksum):
            self.state, self.proved_at = state, time.monotonic()
            return True
        return False

    @property
    def lacks(self):
        return self.state is None or self.newest > self.state.name

    def claims(self, url):
        return self.is_proved and codec.positions_of(url, self.state.bits, self.state.probes) <= self.bits

    def want(self):
        if self.state is None:
            return codec.encode_want()
        held = self.state.name
        beyond = [c.origin.sequence for c in self.waiting if c.kind == "delta" and c.origin[:2] == held[:2]]
        return codec.encode_want(held, min(beyond) if beyond else None)

    @property
    def is_proved(self):
        return self.state is not None and time.monotonic() - self.proved_at <= 3 * HEARTBEAT_S


class Follower(threading.Thread):
    """Follows one peer's digest, in version 2 or, where that is not known, version 1."""

    def __init__(self, own_name, name, url, versions):
        super().__init__(daemon=True)
        self.own_name, self.name_, self.versions = own_name, name, versions
        self.address = urlsplit(url).netloc
        self.replica, self.problem, self.is_streaming = Replica(), "", False

    def run(self):
        pause = FIRST_PAUSE_S
        while True:
            before = self.replica.state
            try:
                self.stream()
            except (OSError, http.client.HTTPException, Malformed) as error:
                self.problem = str(error)
            finally:
                self.is_streaming = False
            pause = FIRST_PAUSE_S if self.replica.state is not before else min(2 * pause, LAST_PAUSE_S)
            time.sleep(pause * (0.5 + random.random() / 2))

    def request(self, method, path, body=None, fields=()):
        connection = http.client.HTTPConnection(self.address, timeout=3 * HEARTBEAT_S)
        connection.request(method, PREFIX + path, body, {"Summary-Cache-Proxy": self.own_name, **dict(fields)})
        return connection, connection.getresponse()

    def stream(self):
        for version in self.versions:
            path = f"v{version}/follow/{quote(self.name_, safe='')}"
            want = self.replica.want() if version == 2 else codec.encode_want(self.replica.state and self.replica.state.name)
            connection, answer = self.request("POST", path, want)
            if answer.status == 404 and version != self.versions[-1]:
                continue
            if answer.status != 200:
                raise Malformed(f"answered {answer.status}")
            self.problem, self.is_streaming = "", True
            for frame in frames_in(answer):
                if not self.replica.receive(codec.decode(frame, MAX_BITS)):
                    continue
                if version == 1:
                    connection.close()
                    return
                self.mend()
            return

    def mend(self):
        """Asks for what is missing, and for a snapshot where that does not help."""
        _, answer = self.request("POST", f"v2/want/{quote(self.name_, safe='')}", self.replica.want())
        for frame in frames_in(answer):
            self.replica.receive(codec.decode(frame, MAX_BITS))
        if self.replica.lacks:
            self.replica.receive(codec.decode(self.read_snapshot(), MAX_BITS))

    def read_snapshot(self):
        path, have, tag = f"v2/digest/{quote(self.name_, safe='')}", b"", None
        for _ in range(MAX_SNAPSHOT_READS):
            fields = [("Range", f"bytes={len(have)}-"), ("If-Range", tag)] if have else []
            _, answer = self.request("GET", path, None, fields)
            length = answer.length or 0
            if answer.status == 200:
                have, tag, total = b"", answer.getheader("ETag"), length
            elif answer.status != 206 or not have:
                raise Malformed(f"answered {answer.status} to the request for its digest")
            elif (answer.getheader("ETag"), answer.getheader("Content-Range"), length) != (
                tag,
                f"bytes {len(have)}-{total - 1}/{total}",
                total - len(have),
            ):
                raise Malformed("a part of a digest that was not asked for")
            if not 0 < total <= MAX_FRAME:
                raise Malformed(f"a digest of {total} bytes")
            # With a length asked for, http.client gives what has come before the connection was cut, and no error.
            have += answer.read(length)
            if len(have) == total:
                return have
        raise Malformed("a digest that breaks off again and again")


def frames_in(answer):
    while True:
        prefix = answer.read(4)
        if len(prefix) < 4:
            return
        length = struct.unpack(">I", prefix)[0]
        if length > MAX_FRAME:
            raise Malformed("a frame that is too long")
        frame = answer.read(length)
        if len(frame) < length:
            return
        yield frame


class Handler(BaseHTTPRequestHandler):
    """Our proxy port: the digest's routes, and objects by absolute URL."""

    protocol_version = "HTTP/1.1"
    timeout = WRITE_S
    publisher, versions = None, ()

    def log_message(self, *_):
        pass

    def do_GET(self):
        if not self.path.startswith("/"):
            return self.answer_object()
        version, what, name = self.route()
        if version == 2 and what == "digest" and name == self.publisher.name:
            return self.answer_digest()
        if version == 1 and what == "digest":
            return self.reply(200, self.publisher.snapshot()[1])
        self.reply(421 if name not in (None, self.publisher.name) else 404, b"")

    def do_POST(self):
        version, what, name = self.route()
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,2}", length) or int(length) > 64:
            self.close_connection = True  # what comes next on it is no request
            return self.reply(400, b"")
        body = self.rfile.read(int(length))
        if version is None or what not in ("follow", "want") or (what, version) == ("want", 1):
            return self.reply(404, b"")
        if name != self.publisher.name:
            return self.reply(421, b"")
        try:
            want = codec.decode(body)
        except Malformed:
            return self.reply(400, b"")
        if what == "want":
            return self.reply(200, b"".join(prefixed(frame) for frame in self.publisher.answer(want, False)))
        self.stream(want, version)

    def route(self):
        parts = self.path[len(PREFIX) :].split("/") + [None, None]
        version = {f"v{v}": v for v in self.versions}.get(parts[0])
        return version, parts[1], parts[2] and unquote(parts[2])

    def stream(self, want, version):
        queue = []
        with self.publisher.lock:
            if len(self.publisher.followers) >= MAX_FOLLOWERS:
                return self.reply(503, b"")
            queue += self.publisher.answer(want, version == 1)
            self.publisher.followers.append(queue)
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        sent_at = time.monotonic()
        try:
            while True:
                while queue:
                    frame = queue.pop(0)
                    if frame is None:
                        return
                    self.wfile.write(prefixed(frame))
                    sent_at = time.monotonic()
                if time.monotonic() - sent_at > HEARTBEAT_S:
                    with self.publisher.lock:
                        queue.append(codec.encode_heartbeat(self.publisher.state()))
                time.sleep(0.02)
        except OSError:
            pass
        finally:
            with self.publisher.lock:
                # Not remove(): that would take the first queue that is as empty.
                self.publisher.followers[:] = [other for other in self.publisher.followers if other is not queue]

    def answer_digest(self):
        wanted = re.fullmatch(r"bytes=([0-9]{1,10})-", self.headers.get("Range", ""))
        name, frame, is_named = self.publisher.lend_snapshot(self.headers.get("If-Range") if wanted else None)
        fields, start = [("ETag", etag(name))], int(wanted[1]) if wanted and is_named else 0
        if not wanted or not is_named:
            return self.reply(200, frame, fields)
        if start >= len(frame):
            return self.reply(416, b"", [*fields, ("Content-Range", f"bytes */{len(frame)}")])
        fields.append(("Content-Range", f"bytes {start}-{len(frame) - 1}/{len(frame)}"))
        self.reply(206, frame[start:], fields)

    def answer_object(self):
        name = self.publisher.name
        try:
            body = self.publisher.held.get(codec.normal_url(self.path))
        except Malformed:
            return self.reply(400, b"")
        if name in [member.split()[1:2] and member.split()[1] for member in self.headers.get("Via", "").split(",")]:
            return self.reply(508, b"")
        if body is not None:
            fields = [("Cache-Status", f"{name}; hit"), ("Cache-Control", "max-age=3600"), ("Age", "0")]
            return self.reply(200, body.encode(), fields)
        with self.publisher.lock:
            positions = codec.positions_of(self.path, BITS, PROBES)
            claim = "collision" if positions <= self.publisher.live() else "pending-clear"
        self.reply(504, b"", [("Cache-Status", f"{name}; fwd=uri-miss; detail=absent; claim={claim}")])

    def reply(self, status, body, fields=()):
        self.send_response(status)
        for field, value in [("Content-Length", str(len(body))), *fields]:
            self.send_header(field, value)
        self.end_headers()
        self.wfile.write(body)


def prefixed(frame):
    return struct.pack(">I", len(frame)) + frame


def ask(own_name, follower, url):
    """What a peer has of a URL; None where it has it not."""
    connection = http.client.HTTPConnection(follower.address, timeout=1)
    fields = {"Cache-Control": "only-if-cached", "Via": f"1.1 {own_name}", "Host": urlsplit(url).netloc}
    connection.request("GET", url, None, fields)
    answer = connection.getresponse()
    status = (answer.getheader("Cache-Status") or "").split(",")[-1]
    return answer.read().decode() if "hit" in [part.strip() for part in status.split(";")] else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--version", type=int, choices=(1, 2), help="speaks that version alone")
    parser.add_argument("--follow", action="append", default=[], metavar="NAME=URL")
    options = parser.parse_args()
    versions = (options.version,) if options.version else (2, 1)

    publisher = Publisher(options.name)
    Handler.publisher, Handler.versions = publisher, versions
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    followers = {}

    def follow(name, url):
        followers[name] = Follower(options.name, name, url, versions)
        followers[name].start()

    for each in options.follow:
        follow(*each.split("=", 1))

    def dump():
        with publisher.lock:
            own = {"name": publisher.state_name, "positions": sorted(publisher.published)}
        replicas = {
            name: {
                "name": f.replica.state and f.replica.state.name,
                "positions": sorted(f.replica.bits),
                "proved": f.is_streaming and f.replica.is_proved,
                "problem": f.problem,
            }
            for name, f in followers.items()
        }
        return {"own": own, "replicas": replicas}

    def get(url):
        claimants = [name for name, f in followers.items() if f.is_streaming and f.replica.claims(url)]
        for name in claimants[:MAX_ASKED]:
            body = ask(options.name, followers[name], url)
            if body is not None:
                return {"from": name, "body": body}
        return {"from": None, "asked": claimants[:MAX_ASKED]}

    commands = {
        "add": publisher.change,
        "remove": publisher.change,
        "publish": publisher.publish,
        "generation": publisher.turn_over,
        "dump": dump,
        "follow": follow,
        "get": get,
        "ask": lambda peer, url: ask(options.name, followers[peer], url),
    }
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        print(json.dumps({"result": commands[command](*arguments)}), flush=True)
    publisher.tell(codec.encode_goodbye(publisher.state_name))
    time.sleep(0.1)


if __name__ == "__main__":
    main()
