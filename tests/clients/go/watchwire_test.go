package clients

import (
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// What the client library hides: watch IDs, refusals and the pieces of large responses.

type wireWatch struct {
	t      *testing.T
	stream pb.Watch_WatchClient
}

func newWireWatch(s *session) *wireWatch {
	s.t.Helper()
	stream, err := pb.NewWatchClient(s.ActiveConnection()).Watch(testContext(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	return &wireWatch{s.t, stream}
}

func (w *wireWatch) create(request *pb.WatchCreateRequest) *pb.WatchResponse {
	w.t.Helper()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: request}})
	return w.receive()
}

func (w *wireWatch) cancel(id int64) {
	w.t.Helper()
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
		CancelRequest: &pb.WatchCancelRequest{WatchId: id}}})
}

func (w *wireWatch) send(request *pb.WatchRequest) {
	w.t.Helper()
	if err := w.stream.Send(request); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wireWatch) receive() *pb.WatchResponse {
	w.t.Helper()
	response, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	return response
}

func TestWatchIDs(t *testing.T) {
	s := newSession(t)
	w := newWireWatch(s)
	create := func(id int64) *pb.WatchResponse {
		return w.create(&pb.WatchCreateRequest{Key: []byte(s.key("a")), WatchId: id})
	}
	for _, c := range []struct{ asked, given int64 }{{1, 1}, {0, 0}, {0, 2}, {7, 7}} {
		response := create(c.asked)
		want(t, fmt.Sprintf("ID for %d", c.asked), response.WatchId, c.given)
		want(t, "created", response.Created, true)
		want(t, "canceled", response.Canceled, false)
	}
	twice := create(7)
	want(t, "ID in use: watch ID", twice.WatchId, int64(-1))
	want(t, "ID in use: created", twice.Created, true)
	want(t, "ID in use: canceled", twice.Canceled, true)
	want(t, "ID in use: reason", twice.CancelReason, "mvcc: duplicate watch ID provided on the WatchStream")

	w.cancel(7)
	gone := w.receive()
	want(t, "cancel: watch ID", gone.WatchId, int64(7))
	want(t, "cancel: canceled", gone.Canceled, true)
	want(t, "cancel: created", gone.Created, false)
	want(t, "cancel: reason", gone.CancelReason, "")
	w.cancel(99) // Nobody has that ID, so nothing comes back.
	want(t, "a cancelled ID is free again", create(7).WatchId, int64(7))

	revision := s.put("a", "1")
	seen := map[int64]int{}
	for range 4 {
		response := w.receive()
		seen[response.WatchId]++
		want(t, "revision of the event", response.Header.Revision, revision)
	}
	want(t, "each live watch is told once", fmt.Sprint(seen), "map[0:1 1:1 2:1 7:1]")
}

func TestRefusedWatches(t *testing.T) {
	s := newSession(t)
	w := newWireWatch(s)
	for what, c := range map[string]struct {
		request *pb.WatchCreateRequest
		reason  string
	}{
		"reversed range": {&pb.WatchCreateRequest{Key: []byte("b"), RangeEnd: []byte("a")},
			"mvcc: watcher range is empty"},
		"empty range": {&pb.WatchCreateRequest{Key: []byte("b"), RangeEnd: []byte("b")},
			"mvcc: watcher range is empty"},
		"negative revision": {&pb.WatchCreateRequest{Key: []byte("b"), StartRevision: -1},
			"etcdserver: mvcc: required revision has been compacted"},
	} {
		response := w.create(c.request)
		want(t, what+": watch ID", response.WatchId, int64(-1))
		want(t, what+": created", response.Created, true)
		want(t, what+": canceled", response.Canceled, true)
		want(t, what+": reason", response.CancelReason, c.reason)
		want(t, what+": compact revision", response.CompactRevision, int64(0))
	}
	good := w.create(&pb.WatchCreateRequest{Key: []byte(s.key("a"))})
	want(t, "the stream still works", good.Created && !good.Canceled, true)
}

func TestCompactedWatchOnTheWire(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "1")
	second := s.put("a", "2")
	s.compact(second)
	w := newWireWatch(s)
	created := w.create(&pb.WatchCreateRequest{Key: []byte(s.key("a")), StartRevision: first})
	want(t, "created", created.Created, true)
	want(t, "not yet canceled", created.Canceled, false)
	want(t, "revision of the first response", created.Header.Revision, second)
	ended := w.receive()
	want(t, "watch ID", ended.WatchId, created.WatchId)
	want(t, "canceled", ended.Canceled, true)
	want(t, "created again", ended.Created, false)
	want(t, "compact revision", ended.CompactRevision, second)
	want(t, "reason", ended.CancelReason, "")
	want(t, "revision of the last response", ended.Header.Revision, int64(0))
}

func TestWatchOutlivesHalfClose(t *testing.T) {
	s := newSession(t)
	w := newWireWatch(s)
	want(t, "created", w.create(&pb.WatchCreateRequest{Key: []byte(s.key("a"))}).Created, true)
	if err := w.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	revision := s.put("a", "1")
	response := w.receive()
	want(t, "events", len(response.Events), 1)
	want(t, "event", s.pair(response.Events[0].Kv), pair{"a", "1", revision, revision, 1, 0})
}

func TestWatchFragments(t *testing.T) {
	const limit = 2 << 20
	s := newSession(t)
	value := strings.Repeat("v", 700<<10)
	first := s.put("0", value)
	for i := 1; i < 8; i++ {
		s.put(fmt.Sprint(i), value)
	}
	w := newWireWatch(s)
	created := w.create(&pb.WatchCreateRequest{Key: []byte(s.key("")), Fragment: true, StartRevision: first,
		RangeEnd: []byte(clientv3.GetPrefixRangeEnd(s.key("")))})
	want(t, "created", created.Created, true)

	var events []*clientv3.Event
	// How much history one response covers is the server's choice; that a piece which is not the last of its
	// response says so is not.
	pieces, fragments := 0, 0
	for ; len(events) < 8; pieces++ {
		piece := w.receive()
		if size := proto.Size(piece); size > limit {
			t.Errorf("a piece of %d bytes, above %d", size, limit)
		}
		want(t, "watch ID of the piece", piece.WatchId, created.WatchId)
		want(t, "revision of the piece", piece.Header.Revision, first+7)
		events = append(events, piece.Events...)
		if piece.Fragment {
			fragments++
			want(t, "a fragment is not the end", len(events) < 8, true)
		}
	}
	want(t, "a response of several MB comes in fragments", fragments > 0, true)
	want(t, "5.6 MB come in several pieces", pieces > 2, true)
	checkEight(t, s, events, first, value)

	// The library puts the pieces together, and takes a large response in one piece too.
	for _, opt := range []clientv3.OpOption{clientv3.WithFragment(), clientv3.WithRev(first)} {
		watch := s.watch(clientv3.WithRev(first), opt)
		var received []*clientv3.Event
		for len(received) < 8 {
			received = append(received, watch.next().Events...)
		}
		checkEight(t, s, received, first, value)
	}
}

func checkEight(t *testing.T, s *session, events []*clientv3.Event, first int64, value string) {
	t.Helper()
	want(t, "events", len(events), 8)
	for i, event := range events {
		revision := first + int64(i)
		want(t, "event", s.pair(event.Kv), pair{fmt.Sprint(i), value, revision, revision, 1, 0})
	}
}
