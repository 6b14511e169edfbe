package clients

import (
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// fillSortable puts five keys whose orders by key, version, creation, change and value all differ, and
// returns the revision before the first.
func fillSortable(s *session) int64 {
	before := s.revision()
	for _, step := range strings.Fields("d=x a=x e=x b=v2 c=x c=x c=x c=v5 e=x e=x e=x e=v1 a=x a=v4 d=v3") {
		name, value, _ := strings.Cut(step, "=")
		s.put(name, value)
	}
	return before
}

func TestSort(t *testing.T) {
	s := newSession(t)
	fillSortable(s)
	cases := []struct {
		target              clientv3.SortTarget
		none, ascend, first string // first: what the limit 3 leaves with order none
		descend             string
	}{
		{clientv3.SortByKey, "a b c d e", "a b c d e", "a b c", "e d c b a"},
		{clientv3.SortByVersion, "b d a c e", "b d a c e", "b d a", "e c a d b"},
		{clientv3.SortByCreateRevision, "d a e b c", "d a e b c", "d a b", "c b e a d"},
		{clientv3.SortByModRevision, "b c e a d", "b c e a d", "b c a", "d a e c b"},
		{clientv3.SortByValue, "e b d a c", "e b d a c", "b d a", "c a d b e"},
	}
	for _, c := range cases {
		for order, all := range map[clientv3.SortOrder]string{
			clientv3.SortNone: c.none, clientv3.SortAscend: c.ascend, clientv3.SortDescend: c.descend,
		} {
			what := fmt.Sprintf("target %d, order %d", c.target, order)
			reply := s.all(clientv3.WithSort(c.target, order))
			want(t, what, s.names(reply.Kvs), all)
			want(t, what+": more", reply.More, false)

			// A real sort comes before the limit; with order none the limit cuts in key order first.
			wanted := all[:5]
			if order == clientv3.SortNone {
				wanted = c.first
			}
			reply = s.all(clientv3.WithSort(c.target, order), clientv3.WithLimit(3))
			want(t, what+" with limit", s.names(reply.Kvs), wanted)
			want(t, what+" with limit: more", reply.More, true)
			want(t, what+" with limit: count", reply.Count, int64(5))
		}
	}
	_, err := s.Do(testContext(t), clientv3.OpGet(s.key(""), clientv3.WithSort(9, clientv3.SortAscend)))
	wantError(t, "unknown sort target", err, rpctypes.ErrInvalidSortOption, codes.InvalidArgument,
		"etcdserver: invalid sort option")
}

func TestLimit(t *testing.T) {
	s := newSession(t)
	fillSortable(s)
	for _, c := range []struct {
		limit int64
		names string
		more  bool
	}{{0, "a b c d e", false}, {1, "a", true}, {4, "a b c d", true}, {5, "a b c d e", false},
		{6, "a b c d e", false}, {-1, "a b c d e", false}} {
		what := fmt.Sprintf("limit %d", c.limit)
		reply := s.all(clientv3.WithLimit(c.limit))
		want(t, what, s.names(reply.Kvs), c.names)
		want(t, what+": more", reply.More, c.more)
		want(t, what+": count", reply.Count, int64(5))
	}
}

func TestRangeEnds(t *testing.T) {
	s := newSession(t)
	fillSortable(s)
	reply := s.get("b", clientv3.WithRange(s.key("d")))
	want(t, "[b, d)", s.names(reply.Kvs), "b c")
	want(t, "[b, d): count", reply.Count, int64(2))
	reply = s.get("b", clientv3.WithRange(s.key("a")))
	want(t, "[b, a)", s.names(reply.Kvs), "")
	want(t, "[b, a): count", reply.Count, int64(0))
	reply = s.get("b", clientv3.WithRange(s.key("b")))
	want(t, "[b, b)", s.names(reply.Kvs), "")
	reply = s.get("d", clientv3.WithFromKey(), clientv3.WithLimit(2))
	want(t, "from d on", s.names(reply.Kvs), "d e")

	whole, err := s.Get(testContext(t), "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	prefixed, err := s.Get(testContext(t), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the whole store, spelt both ways", whole.Count, prefixed.Count)
	want(t, "the whole store holds these five", whole.Count >= 5, true)
}

func TestRevisionFilters(t *testing.T) {
	s := newSession(t)
	// Creations: d 1, a 2, e 3, b 4, c 5; last changes: b 4, c 8, e 12, a 14, d 15.
	base := fillSortable(s)
	for _, c := range []struct {
		what, names string
		filter      clientv3.OpOption
	}{
		{"changed from 8 on", "a c d e", clientv3.WithMinModRev(base + 8)},
		{"changed up to 12", "b c e", clientv3.WithMaxModRev(base + 12)},
		{"created from 3 on", "b c e", clientv3.WithMinCreateRev(base + 3)},
		{"created up to 3", "a d e", clientv3.WithMaxCreateRev(base + 3)},
		{"changed from 16 on", "", clientv3.WithMinModRev(base + 16)},
	} {
		reply := s.all(c.filter)
		want(t, c.what, s.names(reply.Kvs), c.names)
		want(t, c.what+": count, which knows no filter", reply.Count, int64(5))
		want(t, c.what+": more", reply.More, false)
	}
	reply := s.all(clientv3.WithMinModRev(base+8), clientv3.WithLimit(3))
	want(t, "filter and limit", s.names(reply.Kvs), "a c d")
	want(t, "filter and limit: more", reply.More, true)
	reply = s.all(clientv3.WithMinModRev(base+14), clientv3.WithLimit(2))
	want(t, "a limit that the filter keeps", s.names(reply.Kvs), "a d")
	want(t, "a limit that the filter keeps: more", reply.More, false)
}

func TestCountOnly(t *testing.T) {
	s := newSession(t)
	base := fillSortable(s)
	reply := s.all(clientv3.WithCountOnly(), clientv3.WithLimit(2))
	want(t, "count", reply.Count, int64(5))
	want(t, "pairs", len(reply.Kvs), 0)
	want(t, "more", reply.More, false)
	want(t, "count of one key", s.get("a", clientv3.WithCountOnly()).Count, int64(1))
	want(t, "count of a missing key", s.get("f", clientv3.WithCountOnly()).Count, int64(0))
	want(t, "count of the past", s.all(clientv3.WithCountOnly(), clientv3.WithRev(base+2)).Count, int64(2))
}

func TestKeysOnly(t *testing.T) {
	s := newSession(t)
	base := fillSortable(s)
	s.wantPairs("keys only", s.all(clientv3.WithKeysOnly()).Kvs,
		pair{"a", "", base + 2, base + 14, 3, 0}, pair{"b", "", base + 4, base + 4, 1, 0},
		pair{"c", "", base + 5, base + 8, 4, 0}, pair{"d", "", base + 1, base + 15, 2, 0},
		pair{"e", "", base + 3, base + 12, 5, 0})
	reply := s.all(clientv3.WithKeysOnly(), clientv3.WithSort(clientv3.SortByValue, clientv3.SortDescend))
	want(t, "keys only, by values unseen", s.names(reply.Kvs), "c a d b e")
	want(t, "value of the first", string(reply.Kvs[0].Value), "")
}

// receive collects a streamed range until it ends, with the error at its end.
func (s *session) receive(opts ...clientv3.OpOption) ([]*etcdserverpb.RangeResponse, error) {
	s.t.Helper()
	stream, err := s.GetStream(testContext(s.t), s.key(""), append(opts, clientv3.WithPrefix())...)
	if err != nil {
		s.t.Fatal(err)
	}
	var pieces []*etcdserverpb.RangeResponse
	for piece := range stream {
		if piece.Err() != nil {
			return pieces, piece.Err()
		}
		pieces = append(pieces, piece.RangeResponse)
	}
	return pieces, nil
}

func TestRangeStream(t *testing.T) {
	s := newSession(t)
	for i := range 100 {
		s.put(fmt.Sprintf("%03d", i), strings.Repeat("v", 1000))
	}
	for what, opts := range map[string][]clientv3.OpOption{
		"everything": nil,
		"limit":      {clientv3.WithLimit(35)},
		"the past":   {clientv3.WithRev(s.revision() - 50)},
		"keys only":  {clientv3.WithKeysOnly()},
		"count only": {clientv3.WithCountOnly()},
		"one key":    {clientv3.WithLimit(1)},
	} {
		pieces, err := s.receive(opts...)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		merged := &etcdserverpb.RangeResponse{}
		for i, piece := range pieces {
			last := i == len(pieces)-1
			want(t, what+": only the last piece has a header", piece.Header != nil, last)
			want(t, what+": only the last piece has a count", piece.Count != 0, last)
			proto.Merge(merged, piece)
		}
		unary := (*etcdserverpb.RangeResponse)(s.all(opts...))
		if !proto.Equal(merged, unary) {
			t.Errorf("%s: the pieces make\n%s\nand Range answers\n%s", what, brief(merged), brief(unary))
		}
		if what == "everything" {
			want(t, "100 pairs come in several pieces", len(pieces) > 1, true)
		}
		if what == "count only" {
			want(t, "a count comes in one piece", len(pieces), 1)
		}
	}
}

func TestRangeStreamErrors(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "one")
	second := s.put("a", "two")
	s.compact(second)

	_, err := s.receive(clientv3.WithRev(first))
	wantCompacted(t, "stream of a compacted revision", err)
	_, err = s.receive(clientv3.WithRev(second + 1))
	wantFuture(t, "stream of a future revision", err)
	_, err = s.receive(clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
	want(t, "sorted stream: code", status.Code(err), codes.Unimplemented)
	want(t, "sorted stream: text", status.Convert(err).Message(),
		"RangeStream does not support custom sort orders")
	_, err = s.receive(clientv3.WithMinModRev(first))
	want(t, "filtered stream: code", status.Code(err), codes.Unimplemented)
	want(t, "filtered stream: text", status.Convert(err).Message(),
		"RangeStream does not support revision filters")
}
