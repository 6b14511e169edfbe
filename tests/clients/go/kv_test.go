package clients

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
)

func TestPutAndGet(t *testing.T) {
	s := newSession(t)
	before := s.revision()

	first := s.put("a", "one")
	want(t, "revision of the first put", first, before+1)
	got := s.get("a")
	s.wantPairs("after the first put", got.Kvs, pair{"a", "one", first, first, 1, 0})
	want(t, "count", got.Count, int64(1))
	want(t, "more", got.More, false)
	want(t, "header revision", got.Header.Revision, first)

	second := s.put("a", "two")
	want(t, "revision of the second put", second, first+1)
	s.wantPairs("after the second put", s.get("a").Kvs, pair{"a", "two", first, second, 2, 0})

	missing := s.get("b")
	s.wantPairs("a key that was never put", missing.Kvs)
	want(t, "count of it", missing.Count, int64(0))
	want(t, "more of it", missing.More, false)
}

func TestPutAnswersThePreviousPair(t *testing.T) {
	s := newSession(t)
	for _, c := range []struct {
		value string
		prev  bool
	}{{"one", false}, {"two", true}} {
		old := s.get("a")
		reply, err := s.Put(testContext(t), s.key("a"), c.value, clientv3.WithPrevKV())
		if err != nil {
			t.Fatal(err)
		}
		want(t, "has a previous pair", reply.PrevKv != nil, c.prev)
		if c.prev {
			want(t, "previous pair", s.pair(reply.PrevKv), s.pair(old.Kvs[0]))
		}
	}
	reply, err := s.Put(testContext(t), s.key("a"), "three")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "previous pair when not asked for is absent", reply.PrevKv == nil, true)
}

func TestPutKeepsValueWhenAsked(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "kept")
	second := s.put("a", "", clientv3.WithIgnoreValue())
	s.wantPairs("value kept", s.get("a").Kvs, pair{"a", "kept", first, second, 2, 0})
	third := s.put("a", "new", clientv3.WithIgnoreLease())
	s.wantPairs("lease kept", s.get("a").Kvs, pair{"a", "new", first, third, 3, 0})

	_, err := s.Put(testContext(t), s.key("absent"), "", clientv3.WithIgnoreValue())
	wantError(t, "ignore_value of a missing key", err, rpctypes.ErrKeyNotFound, codes.InvalidArgument,
		"etcdserver: key not found")
	_, err = s.Put(testContext(t), s.key("a"), "x", clientv3.WithIgnoreValue())
	wantError(t, "ignore_value with a value", err, rpctypes.ErrValueProvided, codes.InvalidArgument,
		"etcdserver: value is provided")
	want(t, "revision after refused puts", s.revision(), third)
}

func TestAnyBytes(t *testing.T) {
	s := newSession(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	long := strings.Repeat("long key ", 1000)
	big := strings.Repeat("0123456789abcdef", 1<<16)

	odd := s.put(string(every), string(every))
	empty := s.put("empty", "")
	bigRevision := s.put("big", big)
	longRevision := s.put(long, "of a long key")
	longer := s.put(long+"!", "of a longer key")

	s.wantPairs("every byte", s.get(string(every)).Kvs, pair{string(every), string(every), odd, odd, 1, 0})
	s.wantPairs("empty value", s.get("empty").Kvs, pair{"empty", "", empty, empty, 1, 0})
	s.wantPairs("1 MiB value", s.get("big").Kvs, pair{"big", big, bigRevision, bigRevision, 1, 0})
	s.wantPairs("9 kB key", s.get(long).Kvs, pair{long, "of a long key", longRevision, longRevision, 1, 0})
	s.wantPairs("9 kB keys", s.get("long", clientv3.WithPrefix()).Kvs,
		pair{long, "of a long key", longRevision, longRevision, 1, 0},
		pair{long + "!", "of a longer key", longer, longer, 1, 0})
	want(t, "deleted", s.remove(long).Deleted, int64(1))
	s.wantPairs("9 kB keys after one is gone", s.get("long", clientv3.WithPrefix()).Kvs,
		pair{long + "!", "of a longer key", longer, longer, 1, 0})
}

func TestRefusedRequests(t *testing.T) {
	s := newSession(t)
	before := s.revision()
	_, err := s.Put(testContext(t), "", "x")
	wantError(t, "put without a key", err, rpctypes.ErrEmptyKey, codes.InvalidArgument,
		"etcdserver: key is not provided")
	_, err = s.Get(testContext(t), "")
	wantError(t, "get without a key", err, rpctypes.ErrEmptyKey, codes.InvalidArgument,
		"etcdserver: key is not provided")
	_, err = s.Delete(testContext(t), "")
	wantError(t, "delete without a key", err, rpctypes.ErrEmptyKey, codes.InvalidArgument,
		"etcdserver: key is not provided")
	_, err = s.Put(testContext(t), s.key("huge"), strings.Repeat("x", 1600*1024))
	wantError(t, "put of 1600 KiB", err, rpctypes.ErrRequestTooLarge, codes.InvalidArgument,
		"etcdserver: request is too large")
	want(t, "revision after refused requests", s.revision(), before)
}

func TestGetAtRevision(t *testing.T) {
	s := newSession(t)
	before := s.revision()
	a1 := s.put("a", "one")
	b1 := s.put("b", "one")
	a2 := s.put("a", "two")
	gone := s.remove("a").Header.Revision
	a3 := s.put("a", "three")

	states := []struct {
		revision int64
		want     []pair
	}{
		{before, nil},
		{a1, []pair{{"a", "one", a1, a1, 1, 0}}},
		{b1, []pair{{"a", "one", a1, a1, 1, 0}, {"b", "one", b1, b1, 1, 0}}},
		{a2, []pair{{"a", "two", a1, a2, 2, 0}, {"b", "one", b1, b1, 1, 0}}},
		{gone, []pair{{"b", "one", b1, b1, 1, 0}}},
		{a3, []pair{{"a", "three", a3, a3, 1, 0}, {"b", "one", b1, b1, 1, 0}}},
		{0, []pair{{"a", "three", a3, a3, 1, 0}, {"b", "one", b1, b1, 1, 0}}},
	}
	for _, state := range states {
		reply := s.all(clientv3.WithRev(state.revision))
		s.wantPairs("state", reply.Kvs, state.want...)
		want(t, "count", reply.Count, int64(len(state.want)))
		want(t, "header revision of an old read", reply.Header.Revision, a3)
	}
	_, err := s.Get(testContext(t), s.key("a"), clientv3.WithRev(a3+1))
	wantFuture(t, "get at the next revision", err)
}

func TestDelete(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "one")
	s.put("a", "two")

	reply := s.remove("a")
	want(t, "deleted", reply.Deleted, int64(1))
	want(t, "revision of the delete", reply.Header.Revision, first+2)
	want(t, "previous pairs when not asked for", len(reply.PrevKvs), 0)
	s.wantPairs("after the delete", s.get("a").Kvs)

	again := s.remove("a", clientv3.WithPrevKV())
	want(t, "deleted again", again.Deleted, int64(0))
	want(t, "previous pairs of nothing", len(again.PrevKvs), 0)
	want(t, "revision after deleting nothing", again.Header.Revision, first+2)

	reborn := s.put("a", "three")
	want(t, "revision of the new life", reborn, first+3)
	s.wantPairs("a new life", s.get("a").Kvs, pair{"a", "three", reborn, reborn, 1, 0})
}

func TestDeletePrefix(t *testing.T) {
	s := newSession(t)
	y := s.put("in/y", "2")
	x := s.put("in/x", "1")
	z := s.put("in/z", "3")
	out := s.put("out", "stays")

	reply := s.remove("in/", clientv3.WithPrefix(), clientv3.WithPrevKV())
	want(t, "deleted", reply.Deleted, int64(3))
	want(t, "one revision for all", reply.Header.Revision, out+1)
	s.wantPairs("previous pairs, in key order", reply.PrevKvs,
		pair{"in/x", "1", x, x, 1, 0}, pair{"in/y", "2", y, y, 1, 0}, pair{"in/z", "3", z, z, 1, 0})
	s.wantPairs("what stays", s.all().Kvs, pair{"out", "stays", out, out, 1, 0})
}

func TestCompaction(t *testing.T) {
	s := newSession(t)
	a1 := s.put("a", "one")
	a2 := s.put("a", "two")
	a3 := s.put("a", "three")

	_, err := s.Compact(testContext(t), a3+1)
	wantFuture(t, "compaction of the future", err)
	reply, err := s.Compact(testContext(t), a2)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "header revision of the compaction", reply.Header.Revision, a3)

	_, err = s.Get(testContext(t), s.key("a"), clientv3.WithRev(a1))
	wantCompacted(t, "get below the compacted revision", err)
	s.wantPairs("at it", s.get("a", clientv3.WithRev(a2)).Kvs, pair{"a", "two", a1, a2, 2, 0})
	s.wantPairs("above it", s.get("a").Kvs, pair{"a", "three", a1, a3, 3, 0})
	_, err = s.Compact(testContext(t), a2)
	wantCompacted(t, "compaction of the compacted", err)

	if _, err = s.Compact(testContext(t), a3, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(testContext(t), s.key("a"), clientv3.WithRev(a2))
	wantCompacted(t, "get below the second compaction", err)
	s.wantPairs("after the second compaction", s.get("a").Kvs, pair{"a", "three", a1, a3, 3, 0})
	want(t, "revision after compactions", s.revision(), a3)
}
