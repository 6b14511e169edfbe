package clients

import (
	"fmt"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
)

func (s *session) commit(txn clientv3.Txn) *clientv3.TxnResponse {
	s.t.Helper()
	reply, err := txn.Commit()
	if err != nil {
		s.t.Fatalf("Txn: %v", err)
	}
	return reply
}

func (s *session) txn() clientv3.Txn { return s.Txn(testContext(s.t)) }

func TestCompareAndSwap(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "old")
	swap := func(expected, value string) *clientv3.TxnResponse {
		return s.commit(s.txn().If(clientv3.Compare(clientv3.Value(s.key("a")), "=", expected)).
			Then(clientv3.OpPut(s.key("a"), value, clientv3.WithPrevKV())).
			Else(clientv3.OpGet(s.key("a"))))
	}

	reply := swap("old", "new")
	want(t, "succeeded", reply.Succeeded, true)
	want(t, "revision", reply.Header.Revision, first+1)
	want(t, "replies", len(reply.Responses), 1)
	put := reply.Responses[0].GetResponsePut()
	want(t, "revision of the put in it", put.GetHeader().GetRevision(), first+1)
	want(t, "pair before", s.pair(put.GetPrevKv()), pair{"a", "old", first, first, 1, 0})
	s.wantPairs("swapped", s.get("a").Kvs, pair{"a", "new", first, first + 1, 2, 0})

	reply = swap("old", "newer")
	want(t, "succeeded with a stale value", reply.Succeeded, false)
	want(t, "revision of a failed swap", reply.Header.Revision, first+1)
	want(t, "replies of the else branch", len(reply.Responses), 1)
	s.wantPairs("read by the else branch", reply.Responses[0].GetResponseRange().GetKvs(),
		pair{"a", "new", first, first + 1, 2, 0})
	s.wantPairs("not swapped", s.get("a").Kvs, pair{"a", "new", first, first + 1, 2, 0})
}

func TestCompares(t *testing.T) {
	s := newSession(t)
	create := s.put("a", "x")
	mod := s.put("a", "m")
	a, absent := s.key("a"), s.key("absent")
	cases := []struct {
		what string
		cmp  clientv3.Cmp
		want bool
	}{
		{"value = m", clientv3.Compare(clientv3.Value(a), "=", "m"), true},
		{"value = x", clientv3.Compare(clientv3.Value(a), "=", "x"), false},
		{"value != x", clientv3.Compare(clientv3.Value(a), "!=", "x"), true},
		{"value > l", clientv3.Compare(clientv3.Value(a), ">", "l"), true},
		{"value > m", clientv3.Compare(clientv3.Value(a), ">", "m"), false},
		{"value < ma", clientv3.Compare(clientv3.Value(a), "<", "ma"), true},
		{"value < m", clientv3.Compare(clientv3.Value(a), "<", "m"), false},
		{"version = 2", clientv3.Compare(clientv3.Version(a), "=", 2), true},
		{"version > 2", clientv3.Compare(clientv3.Version(a), ">", 2), false},
		{"version < 3", clientv3.Compare(clientv3.Version(a), "<", 3), true},
		{"version != 2", clientv3.Compare(clientv3.Version(a), "!=", 2), false},
		{"create", clientv3.Compare(clientv3.CreateRevision(a), "=", create), true},
		{"create is not mod", clientv3.Compare(clientv3.CreateRevision(a), "=", mod), false},
		{"mod", clientv3.Compare(clientv3.ModRevision(a), "=", mod), true},
		{"mod > create", clientv3.Compare(clientv3.ModRevision(a), ">", create), true},
		{"lease = 0", clientv3.Compare(clientv3.LeaseValue(a), "=", 0), true},
		{"lease != 0", clientv3.Compare(clientv3.LeaseValue(a), "!=", 0), false},
		{"absent: version = 0", clientv3.Compare(clientv3.Version(absent), "=", 0), true},
		{"absent: create = 0", clientv3.Compare(clientv3.CreateRevision(absent), "=", 0), true},
		{"absent: mod > 0", clientv3.Compare(clientv3.ModRevision(absent), ">", 0), false},
		{"absent: value = nothing", clientv3.Compare(clientv3.Value(absent), "=", ""), false},
		{"absent: value != x", clientv3.Compare(clientv3.Value(absent), "!=", "x"), false},
		{"empty range: version = 0", clientv3.Compare(clientv3.Version(absent).WithPrefix(), "=", 0), true},
	}
	for _, c := range cases {
		want(t, c.what, s.commit(s.txn().If(c.cmp)).Succeeded, c.want)
	}
	want(t, "no compare", s.commit(s.txn()).Succeeded, true)
	want(t, "two that hold", s.commit(s.txn().If(cases[0].cmp, cases[2].cmp)).Succeeded, true)
	want(t, "one of two holds", s.commit(s.txn().If(cases[0].cmp, cases[1].cmp)).Succeeded, false)
	want(t, "revision after compares", s.revision(), mod)

	b := s.put("b", "m")
	all := clientv3.Version(s.key("")).WithPrefix()
	want(t, "all versions > 0", s.commit(s.txn().If(clientv3.Compare(all, ">", 0))).Succeeded, true)
	want(t, "all versions > 1", s.commit(s.txn().If(clientv3.Compare(all, ">", 1))).Succeeded, false)
	inAB := clientv3.Value(s.key("a")).WithRange(s.key("c"))
	want(t, "all values = m", s.commit(s.txn().If(clientv3.Compare(inAB, "=", "m"))).Succeeded, true)
	want(t, "revision at the end", s.revision(), b)
}

func TestTxnIsOneRevision(t *testing.T) {
	s := newSession(t)
	before := s.put("old", "1")
	reply := s.commit(s.txn().Then(
		clientv3.OpPut(s.key("b"), "1"),
		clientv3.OpGet(s.key("b")),
		clientv3.OpDelete(s.key("old"), clientv3.WithPrevKV()),
		clientv3.OpPut(s.key("a"), "2"),
		clientv3.OpGet(s.key(""), clientv3.WithPrefix(), clientv3.WithKeysOnly()),
	))
	now := before + 1
	want(t, "succeeded", reply.Succeeded, true)
	want(t, "revision", reply.Header.Revision, now)
	want(t, "replies", len(reply.Responses), 5)
	s.wantPairs("sees the put before it", reply.Responses[1].GetResponseRange().GetKvs(),
		pair{"b", "1", now, now, 1, 0})
	deleted := reply.Responses[2].GetResponseDeleteRange()
	want(t, "deleted", deleted.GetDeleted(), int64(1))
	s.wantPairs("the deleted", deleted.GetPrevKvs(), pair{"old", "1", before, before, 1, 0})
	want(t, "sees all before it", s.names(reply.Responses[4].GetResponseRange().GetKvs()), "a b")
	for i, response := range reply.Responses {
		want(t, fmt.Sprintf("revision in reply %d", i), headerOf(response).GetRevision(), now)
	}
	s.wantPairs("after", s.all().Kvs, pair{"a", "2", now, now, 1, 0}, pair{"b", "1", now, now, 1, 0})

	again := s.commit(s.txn().Then(clientv3.OpDelete(s.key("a")), clientv3.OpDelete(s.key("a"))))
	want(t, "deleted first", again.Responses[0].GetResponseDeleteRange().GetDeleted(), int64(1))
	want(t, "deleted second", again.Responses[1].GetResponseDeleteRange().GetDeleted(), int64(0))
	nothing := s.commit(s.txn().Then(clientv3.OpDelete(s.key("a"))))
	want(t, "revision of a transaction that changed nothing", nothing.Header.Revision, now+1)
}

func headerOf(response *etcdserverpb.ResponseOp) *etcdserverpb.ResponseHeader {
	switch {
	case response.GetResponsePut() != nil:
		return response.GetResponsePut().GetHeader()
	case response.GetResponseRange() != nil:
		return response.GetResponseRange().GetHeader()
	case response.GetResponseDeleteRange() != nil:
		return response.GetResponseDeleteRange().GetHeader()
	default:
		return response.GetResponseTxn().GetHeader()
	}
}

func TestNestedTxn(t *testing.T) {
	s := newSession(t)
	before := s.put("a", "outer")
	isOuter := clientv3.Compare(clientv3.Value(s.key("a")), "=", "outer")
	reply := s.commit(s.txn().If(isOuter).Then(
		clientv3.OpPut(s.key("a"), "inner"),
		// Compares look at the store before the transaction, so this one holds although "a" was just put.
		clientv3.OpTxn([]clientv3.Cmp{isOuter},
			[]clientv3.Op{
				clientv3.OpGet(s.key("a")),
				clientv3.OpPut(s.key("then"), "1"),
				clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Version(s.key("then")), ">", 0)},
					[]clientv3.Op{clientv3.OpPut(s.key("deep then"), "1")},
					[]clientv3.Op{clientv3.OpPut(s.key("deep else"), "1")}),
			},
			[]clientv3.Op{clientv3.OpPut(s.key("else"), "1")}),
		clientv3.OpGet(s.key("then")),
	))
	now := before + 1
	want(t, "revision", reply.Header.Revision, now)
	want(t, "replies", len(reply.Responses), 3)
	inner := reply.Responses[1].GetResponseTxn()
	want(t, "inner succeeded", inner.GetSucceeded(), true)
	want(t, "inner header is there", inner.GetHeader() != nil, true)
	want(t, "revision in the inner header", inner.GetHeader().GetRevision(), int64(0))
	want(t, "inner replies", len(inner.GetResponses()), 3)
	s.wantPairs("reads see what was done before them", inner.GetResponses()[0].GetResponseRange().GetKvs(),
		pair{"a", "inner", before, now, 2, 0})
	want(t, "innermost succeeded", inner.GetResponses()[2].GetResponseTxn().GetSucceeded(), false)
	s.wantPairs("after the inner one", reply.Responses[2].GetResponseRange().GetKvs(),
		pair{"then", "1", now, now, 1, 0})
	s.wantPairs("state", s.all().Kvs, pair{"a", "inner", before, now, 2, 0},
		pair{"deep else", "1", now, now, 1, 0}, pair{"then", "1", now, now, 1, 0})
}

func TestFailedTxnChangesNothing(t *testing.T) {
	s := newSession(t)
	before := s.put("a", "1")
	_, err := s.txn().Then(
		clientv3.OpPut(s.key("b"), "2"),
		clientv3.OpDelete(s.key("a")),
		clientv3.OpGet(s.key("a"), clientv3.WithRev(before+100)),
	).Commit()
	wantFuture(t, "read of the future in a transaction", err)
	_, err = s.txn().Then(
		clientv3.OpPut(s.key("b"), "2"),
		clientv3.OpPut(s.key("c"), "", clientv3.WithIgnoreValue()),
	).Commit()
	wantError(t, "ignore_value of a missing key in a transaction", err, rpctypes.ErrKeyNotFound,
		codes.InvalidArgument, "etcdserver: key not found")
	s.wantPairs("state", s.all().Kvs, pair{"a", "1", before, before, 1, 0})
	want(t, "revision", s.revision(), before)

	untaken := s.commit(s.txn().Then(clientv3.OpPut(s.key("b"), "2")).
		Else(clientv3.OpGet(s.key("a"), clientv3.WithRev(before+100))))
	want(t, "revision when only the branch not taken would fail", untaken.Header.Revision, before+1)
}

func TestRefusedTxns(t *testing.T) {
	s := newSession(t)
	before := s.revision()
	put := clientv3.OpPut(s.key("a"), "1")
	nested := func(ops ...clientv3.Op) clientv3.Op { return clientv3.OpTxn(nil, ops, nil) }
	for what, ops := range map[string][]clientv3.Op{
		"twice put":                   {put, put},
		"put and deleted":             {put, clientv3.OpDelete(s.key("a"))},
		"put and deleted by a prefix": {clientv3.OpDelete(s.key(""), clientv3.WithPrefix()), put},
		"put and put inside":          {put, nested(put)},
		"put in two inside":           {nested(put), nested(put)},
		"twice put two levels down":   {nested(nested(put, put))},
		"deleted, then put inside":    {clientv3.OpDelete(s.key("a")), nested(put)},
	} {
		_, err := s.txn().Then(ops...).Commit()
		wantError(t, what, err, rpctypes.ErrDuplicateKey, codes.InvalidArgument,
			"etcdserver: duplicate key given in txn request")
		_, err = s.txn().Else(ops...).Commit()
		wantError(t, what+" in the else branch", err, rpctypes.ErrDuplicateKey, codes.InvalidArgument,
			"etcdserver: duplicate key given in txn request")
	}
	_, err := s.txn().Then(clientv3.OpPut("", "1")).Commit()
	wantError(t, "no key", err, rpctypes.ErrEmptyKey, codes.InvalidArgument, "etcdserver: key is not provided")

	many := make([]clientv3.Op, 129)
	for i := range many {
		many[i] = clientv3.OpPut(s.key(fmt.Sprint(i)), "1")
	}
	_, err = s.txn().Then(many...).Commit()
	wantError(t, "129 operations", err, rpctypes.ErrTooManyOps, codes.InvalidArgument,
		"etcdserver: too many operations in txn request")
	want(t, "revision after refused transactions", s.revision(), before)
	want(t, "revision after 128 operations", s.commit(s.txn().Then(many[1:]...)).Header.Revision, before+1)
	want(t, "keys of 128 operations", s.all(clientv3.WithCountOnly()).Count, int64(128))
}
