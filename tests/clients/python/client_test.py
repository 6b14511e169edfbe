"""What a Python program sees of kvist through the package etcd3.

Black box: knows only the endpoint. The server must have no other writer while the suite runs, since
revisions are compared with exact values and the history is compacted.
"""

import os
import queue
import re

import etcd3
import grpc
import pytest
from etcd3 import etcdrpc
from etcd3.events import DeleteEvent, PutEvent
from etcd3.exceptions import RevisionCompactedError

ENDPOINT = os.environ.get("KVIST_ENDPOINT", "127.0.0.1:2379")
RUN = os.urandom(6).hex()
TIMEOUT_S = 10

COMPACTED = "etcdserver: mvcc: required revision has been compacted"
FUTURE = "etcdserver: mvcc: required revision is a future revision"


@pytest.fixture(scope="module")
def client():
    # Never closed: the library's watch thread has no end of its own and would trip over a closed channel.
    host, port = ENDPOINT.rsplit(":", 1)
    return etcd3.client(host=host, port=int(port), timeout=TIMEOUT_S)


@pytest.fixture
def prefix(request):
    return f"/python/{RUN}/{request.node.name}/".encode()


def put(client, key, value):
    """Puts and returns the revision of the write."""
    return client.put(key, value).header.revision


def range_prefix(client, prefix, **fields):
    """Range over a prefix with any field: get_prefix takes `limit` and `revision`, but sends neither."""
    end = prefix[:-1] + bytes([prefix[-1] + 1])
    return client.kvstub.Range(etcdrpc.RangeRequest(key=prefix, range_end=end, **fields), TIMEOUT_S)


def pairs(response):
    return [(kv.key, kv.value) for kv in response.kvs]


class Watch:
    """A watch over a prefix whose events are taken one by one, each within TIMEOUT_S."""

    def __init__(self, client, prefix, **options):
        self._responses = queue.Queue()
        self._events = []
        self._client = client
        self._id = client.add_watch_prefix_callback(prefix, self._responses.put, **options)

    def next(self):
        while not self._events:
            response = self._responses.get(timeout=TIMEOUT_S)
            if isinstance(response, Exception):
                raise response
            self._events.extend(response.events)
        return self._events.pop(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._client.cancel_watch(self._id)


def seen(event):
    return type(event), event.key, event.value, event.mod_revision, event.version


def test_put_then_get_returns_value_and_revisions(client, prefix):
    key = prefix + b"k"
    assert client.get(key) == (None, None)

    first = put(client, key, b"one")
    value, meta = client.get(key)
    assert (value, meta.key) == (b"one", key)
    assert (meta.create_revision, meta.mod_revision, meta.version, meta.lease_id) == (first, first, 1, 0)

    second = client.put(key, b"two", prev_kv=True)
    assert second.header.revision == first + 1
    assert (second.prev_kv.value, second.prev_kv.mod_revision) == (b"one", first)
    value, meta = client.get(key)
    assert value == b"two"
    assert (meta.create_revision, meta.mod_revision, meta.version) == (first, first + 1, 2)


def test_prefix_and_limit(client, prefix):
    for name in (b"b", b"a", b"c"):
        put(client, prefix + name, b"v" + name)
    put(client, prefix[:-1] + b"0", b"just past the prefix")
    everything = [(prefix + name, b"v" + name) for name in (b"a", b"b", b"c")]

    assert [(meta.key, value) for value, meta in client.get_prefix(prefix)] == everything
    page = range_prefix(client, prefix, limit=2)
    assert (pairs(page), page.more, page.count) == (everything[:2], True, 3)
    page = range_prefix(client, prefix, limit=3)
    assert (pairs(page), page.more, page.count) == (everything, False, 3)
    count = range_prefix(client, prefix, count_only=True)
    assert (pairs(count), count.more, count.count) == ([], False, 3)


# Puts (key, value) after which each of the five sort targets gives an order of its own.
SORT_PUTS = ["cx", "ax", "dx", "b2", "dx", "dx", "d3", "c1", "ax", "a4"]


@pytest.mark.parametrize(
    "target, ascending",
    [("key", "abcd"), ("version", "bcad"), ("create", "cadb"), ("mod", "bdca"), ("value", "cbda")],
)
def test_sort(client, prefix, target, ascending):
    for name, value in SORT_PUTS:
        put(client, prefix + name.encode(), value)

    def names(order):
        found = client.get_prefix(prefix, sort_order=order, sort_target=target)
        return "".join(chr(meta.key[-1]) for _, meta in found)

    assert names("ascend") == ascending
    assert names("descend") == ascending[::-1]
    top = range_prefix(client, prefix, limit=2, sort_order="DESCEND", sort_target=target.upper())
    assert "".join(chr(kv.key[-1]) for kv in top.kvs) == ascending[:1:-1]


def test_get_at_an_old_revision(client, prefix):
    first = put(client, prefix + b"k", b"one")
    put(client, prefix + b"k", b"two")
    put(client, prefix + b"later", b"x")
    client.delete(prefix + b"k")

    old = range_prefix(client, prefix, revision=first)
    assert (pairs(old), old.kvs[0].version) == ([(prefix + b"k", b"one")], 1)
    assert old.header.revision == first + 3
    assert pairs(range_prefix(client, prefix, revision=first + 1)) == [(prefix + b"k", b"two")]
    assert pairs(range_prefix(client, prefix, revision=first + 3)) == [(prefix + b"later", b"x")]


def test_delete_one_key(client, prefix):
    first = put(client, prefix + b"k", b"gone")

    deleted = client.delete(prefix + b"k", prev_kv=True, return_response=True)
    assert (deleted.deleted, deleted.header.revision) == (1, first + 1)
    assert [(kv.key, kv.value) for kv in deleted.prev_kvs] == [(prefix + b"k", b"gone")]
    assert client.get(prefix + b"k") == (None, None)

    again = client.delete(prefix + b"k", prev_kv=True, return_response=True)
    assert (again.deleted, list(again.prev_kvs), again.header.revision) == (0, [], first + 1)


def test_delete_a_prefix(client, prefix):
    for name in (b"in/a", b"in/b", b"in/c", b"out"):
        last = put(client, prefix + name, name)

    deleted = client.delete_prefix(prefix + b"in/")
    assert (deleted.deleted, deleted.header.revision) == (3, last + 1)
    assert [meta.key for _, meta in client.get_prefix(prefix)] == [prefix + b"out"]


def test_compare_and_swap_that_succeeds(client, prefix):
    key, t = prefix + b"k", client.transactions
    first = put(client, key, b"old")

    succeeded, replies = client.transaction(
        compare=[t.value(key) == b"old", t.version(key) == 1, t.create(key) == first, t.mod(key) < first + 1],
        success=[t.put(key, b"new", prev_kv=True), t.get(key), t.delete(prefix + b"absent")],
        failure=[t.put(key, b"wrong")],
    )
    assert succeeded is True
    assert replies[0].response_put.prev_kv.value == b"old"
    [(value, meta)] = replies[1]
    assert (value, meta.mod_revision, meta.version) == (b"new", first + 1, 2)
    assert replies[2].response_delete_range.deleted == 0
    assert client.get(key)[0] == b"new"


def test_compare_and_swap_that_fails_runs_the_else_branch(client, prefix):
    key, t = prefix + b"k", client.transactions
    first = put(client, key, b"current")

    succeeded, replies = client.transaction(
        compare=[t.value(key) == b"stale"],
        success=[t.put(key, b"wrong")],
        failure=[t.get(key), t.put(prefix + b"loser", b"1")],
    )
    assert succeeded is False
    [(value, meta)] = replies[0]
    assert (value, meta.mod_revision) == (b"current", first)
    assert replies[1].response_put.header.revision == first + 1
    assert client.get(key)[0] == b"current"
    assert client.get(prefix + b"loser")[0] == b"1"


def test_watch_from_now(client, prefix):
    put(client, prefix + b"k", b"before")
    t = client.transactions
    with Watch(client, prefix, prev_kv=True) as watch:
        first = put(client, prefix + b"k", b"one")
        client.delete(prefix + b"k")
        client.transaction([], [t.put(prefix + b"x", b"1"), t.put(prefix + b"y", b"2")], [])

        event = watch.next()
        assert seen(event) == (PutEvent, prefix + b"k", b"one", first, 2)
        assert event.prev_value == b"before"
        event = watch.next()
        assert seen(event) == (DeleteEvent, prefix + b"k", b"", first + 1, 0)
        assert event.prev_value == b"one"
        assert seen(watch.next()) == (PutEvent, prefix + b"x", b"1", first + 2, 1)
        assert seen(watch.next()) == (PutEvent, prefix + b"y", b"2", first + 2, 1)


def test_watch_from_an_old_revision_across_a_compaction(client, prefix):
    first = put(client, prefix + b"k", b"one")
    put(client, prefix + b"k", b"two")
    put(client, prefix + b"k", b"three")
    client.delete(prefix + b"k")
    compacted = first + 1
    client.compact(compacted)

    with Watch(client, prefix, start_revision=first) as watch:
        with pytest.raises(RevisionCompactedError) as error:
            watch.next()
        assert error.value.compacted_revision == compacted

    with Watch(client, prefix, start_revision=compacted) as watch:
        assert seen(watch.next()) == (PutEvent, prefix + b"k", b"two", first + 1, 2)
        assert seen(watch.next()) == (PutEvent, prefix + b"k", b"three", first + 2, 3)
        assert seen(watch.next()) == (DeleteEvent, prefix + b"k", b"", first + 3, 0)
        now = put(client, prefix + b"k", b"live")
        assert seen(watch.next()) == (PutEvent, prefix + b"k", b"live", now, 1)


def assert_out_of_range(error, text):
    assert (error.value.code(), error.value.details()) == (grpc.StatusCode.OUT_OF_RANGE, text)


def test_a_compacted_revision_is_out_of_range(client, prefix):
    first = put(client, prefix + b"k", b"one")
    second = put(client, prefix + b"k", b"two")
    client.compact(second)

    with pytest.raises(grpc.RpcError) as error:
        range_prefix(client, prefix, revision=first)
    assert_out_of_range(error, COMPACTED)
    with pytest.raises(grpc.RpcError) as error:
        client.compact(second)
    assert_out_of_range(error, COMPACTED)
    assert pairs(range_prefix(client, prefix, revision=second)) == [(prefix + b"k", b"two")]


def test_a_future_revision_is_out_of_range(client, prefix):
    now = put(client, prefix + b"k", b"one")

    with pytest.raises(grpc.RpcError) as error:
        range_prefix(client, prefix, revision=now + 1)
    assert_out_of_range(error, FUTURE)
    with pytest.raises(grpc.RpcError) as error:
        client.compact(now + 1)
    assert_out_of_range(error, FUTURE)


def test_status_and_members_name_one_leader(client):
    status = client.status()
    [member] = client.members
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", status.version)
    assert status.db_size > 0
    assert status.leader.id == member.id != 0


def test_any_bytes_in_key_and_value(client, prefix):
    every_byte = bytes(range(256))
    key = prefix + b"\xff\xfe\x00\x80"
    put(client, key, every_byte)
    put(client, prefix + b"empty", b"")

    assert client.get(key)[0] == every_byte
    assert client.get(prefix + b"empty")[0] == b""
    assert [meta.key for _, meta in client.get_prefix(prefix)] == [prefix + b"empty", key]


def test_keys_longer_than_511_bytes(client, prefix):
    stem = prefix + b"k" * 2000  # the two keys differ in their last byte only
    put(client, stem + b"1", b"one")
    put(client, stem + b"2", b"two")

    assert client.get(stem + b"1")[0] == b"one"
    assert client.get(stem + b"2")[0] == b"two"
    assert client.get(stem) == (None, None)
    assert [value for value, _ in client.get_prefix(stem)] == [b"one", b"two"]
    assert client.delete(stem + b"1") is True
    assert [meta.key for _, meta in client.get_prefix(stem)] == [stem + b"2"]
