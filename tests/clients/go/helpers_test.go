// Package clients runs the Go client library against a server that is up already, whose address
// KVIST_ENDPOINT gives (default 127.0.0.1:2379). It passes on a real etcd as on kvist.
//
// Revisions are asserted exactly, and compaction is of the whole store, so the tests run one after another
// and nobody else may write meanwhile. Every test has a key prefix of its own.
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
)

// An answer that takes longer counts as none.
const patience = 15 * time.Second

func endpoint() string {
	if given := os.Getenv("KVIST_ENDPOINT"); given != "" {
		return given
	}
	return "127.0.0.1:2379"
}

// session is one test's connection, and the prefix of its keys.
type session struct {
	*clientv3.Client
	t      *testing.T
	prefix string
}

func newSession(t *testing.T) *session {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{endpoint()},
		DialTimeout: patience,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		t.Fatalf("no client for %s: %v", endpoint(), err)
	}
	t.Cleanup(func() { client.Close() })
	prefix := fmt.Sprintf("/go/%s/%x/", t.Name(), time.Now().UnixNano())
	return &session{Client: client, t: t, prefix: prefix}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func (s *session) key(name string) string { return s.prefix + name }

// put returns the revision of the put.
func (s *session) put(name, value string, opts ...clientv3.OpOption) int64 {
	s.t.Helper()
	reply, err := s.Put(testContext(s.t), s.key(name), value, opts...)
	if err != nil {
		s.t.Fatalf("Put %s: %v", name, err)
	}
	return reply.Header.Revision
}

func (s *session) get(name string, opts ...clientv3.OpOption) *clientv3.GetResponse {
	s.t.Helper()
	reply, err := s.Get(testContext(s.t), s.key(name), opts...)
	if err != nil {
		s.t.Fatalf("Get %s: %v", name, err)
	}
	return reply
}

// all gets every key of the test.
func (s *session) all(opts ...clientv3.OpOption) *clientv3.GetResponse {
	s.t.Helper()
	return s.get("", append([]clientv3.OpOption{clientv3.WithPrefix()}, opts...)...)
}

func (s *session) remove(name string, opts ...clientv3.OpOption) *clientv3.DeleteResponse {
	s.t.Helper()
	reply, err := s.Delete(testContext(s.t), s.key(name), opts...)
	if err != nil {
		s.t.Fatalf("Delete %s: %v", name, err)
	}
	return reply
}

func (s *session) compact(revision int64) {
	s.t.Helper()
	if _, err := s.Compact(testContext(s.t), revision); err != nil {
		s.t.Fatalf("Compact(%d): %v", revision, err)
	}
}

// revision is the store's current one.
func (s *session) revision() int64 {
	s.t.Helper()
	return s.get("absent").Header.Revision
}

// pair is a key without its prefix, with all that is stored beside it.
type pair struct {
	key, value           string
	create, mod, version int64
	lease                int64
}

func (s *session) pair(kv *mvccpb.KeyValue) pair {
	return pair{
		key: strings.TrimPrefix(string(kv.GetKey()), s.prefix), value: string(kv.GetValue()),
		create: kv.GetCreateRevision(), mod: kv.GetModRevision(), version: kv.GetVersion(), lease: kv.GetLease(),
	}
}

func (s *session) pairs(kvs []*mvccpb.KeyValue) []pair {
	var list []pair
	for _, kv := range kvs {
		list = append(list, s.pair(kv))
	}
	return list
}

// names are the keys without their prefix, joined by spaces.
func (s *session) names(kvs []*mvccpb.KeyValue) string {
	var list []string
	for _, kv := range kvs {
		list = append(list, strings.TrimPrefix(string(kv.Key), s.prefix))
	}
	return strings.Join(list, " ")
}

func (s *session) wantPairs(what string, kvs []*mvccpb.KeyValue, want ...pair) {
	s.t.Helper()
	if got := s.pairs(kvs); !slices.Equal(got, want) {
		s.t.Errorf("%s:\n got %s\nwant %s", what, brief(got), brief(want))
	}
}

// brief keeps a message about values of megabytes readable.
func brief(value any) string {
	text := fmt.Sprintf("%+v", value)
	if len(text) > 2000 {
		return text[:2000] + "..."
	}
	return text
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %s, want %s", what, brief(got), brief(wanted))
	}
}

// wantError checks an error by the library's own value, and that code and text are what came over the wire.
func wantError(t *testing.T, what string, err, wanted error, code codes.Code, text string) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: got error %v, want %v", what, err, wanted)
		return
	}
	var etcdError rpctypes.EtcdError
	if !errors.As(err, &etcdError) {
		t.Errorf("%s: got a %T, want an rpctypes.EtcdError", what, err)
		return
	}
	want(t, what+": code", etcdError.Code(), code)
	want(t, what+": text", etcdError.Error(), text)
}

func wantCompacted(t *testing.T, what string, err error) {
	t.Helper()
	wantError(t, what, err, rpctypes.ErrCompacted, codes.OutOfRange,
		"etcdserver: mvcc: required revision has been compacted")
}

func wantFuture(t *testing.T, what string, err error) {
	t.Helper()
	wantError(t, what, err, rpctypes.ErrFutureRev, codes.OutOfRange,
		"etcdserver: mvcc: required revision is a future revision")
}
