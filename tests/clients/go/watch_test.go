package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// change is an event; prev is nil when the event has no previous pair.
type change struct {
	kind string
	now  pair
	prev *pair
}

func (c change) String() string {
	if c.prev == nil {
		return fmt.Sprintf("%s %+v", c.kind, c.now)
	}
	return fmt.Sprintf("%s %+v before %+v", c.kind, c.now, *c.prev)
}

func putOf(now pair) change { return change{"PUT", now, nil} }

// deletionOf is what a delete at that revision says: the key and nothing else.
func deletionOf(name string, revision int64) change {
	return change{"DELETE", pair{key: name, mod: revision}, nil}
}

func (c change) after(prev pair) change {
	c.prev = &prev
	return c
}

// watching is a watch under test.
type watching struct {
	s       *session
	channel clientv3.WatchChan
	stop    context.CancelFunc
}

// watch opens a watch on all keys of the test, and returns when the server has confirmed it.
func (s *session) watch(opts ...clientv3.OpOption) *watching {
	s.t.Helper()
	return s.watchKey("", append(opts, clientv3.WithPrefix())...)
}

func (s *session) watchKey(name string, opts ...clientv3.OpOption) *watching {
	s.t.Helper()
	ctx, stop := context.WithCancel(testContext(s.t))
	w := &watching{s, s.Watch(ctx, s.key(name), append(opts, clientv3.WithCreatedNotify())...), stop}
	first := w.next()
	want(s.t, "first response says created", first.Created, true)
	want(s.t, "events in it", len(first.Events), 0)
	return w
}

func (w *watching) next() clientv3.WatchResponse {
	w.s.t.Helper()
	select {
	case response, open := <-w.channel:
		if !open {
			w.s.t.Fatal("the watch has ended")
		}
		return response
	case <-time.After(patience):
		w.s.t.Fatal("nothing came from the watch")
	}
	panic("not reached")
}

// expect takes exactly that many changes off the watch, however many responses they come in.
func (w *watching) expect(what string, wanted ...change) {
	w.s.t.Helper()
	var got []string
	for len(got) < len(wanted) {
		response := w.next()
		if response.Err() != nil {
			w.s.t.Fatalf("%s: the watch ended: %v", what, response.Err())
		}
		for _, event := range response.Events {
			got = append(got, w.change(event).String())
			if event.Kv.ModRevision > response.Header.Revision {
				w.s.t.Errorf("%s: an event of revision %d in a response of %d", what, event.Kv.ModRevision,
					response.Header.Revision)
			}
		}
	}
	var texts []string
	for _, one := range wanted {
		texts = append(texts, one.String())
	}
	if !slices.Equal(got, texts) {
		w.s.t.Errorf("%s:\n got %s\nwant %s", what, brief(strings.Join(got, "\n     ")),
			brief(strings.Join(texts, "\n     ")))
	}
}

func (w *watching) change(event *mvccpb.Event) change {
	c := change{event.Type.String(), w.s.pair(event.Kv), nil}
	if event.PrevKv != nil {
		prev := w.s.pair(event.PrevKv)
		c.prev = &prev
	}
	return c
}

func TestWatchFromNow(t *testing.T) {
	s := newSession(t)
	a1 := s.put("a", "before the watch")
	all, one := s.watch(), s.watchKey("b")

	a2 := s.put("a", "two")
	b1 := s.put("b", "one")
	ab := s.put("bb", "a neighbour of b")
	gone := s.remove("b").Header.Revision
	s.remove("b")
	b2 := s.put("b", "two")

	all.expect("all keys", putOf(pair{"a", "two", a1, a2, 2, 0}), putOf(pair{"b", "one", b1, b1, 1, 0}),
		putOf(pair{"bb", "a neighbour of b", ab, ab, 1, 0}), deletionOf("b", gone),
		putOf(pair{"b", "two", b2, b2, 1, 0}))
	one.expect("one key", putOf(pair{"b", "one", b1, b1, 1, 0}), deletionOf("b", gone),
		putOf(pair{"b", "two", b2, b2, 1, 0}))
}

func TestWatchLiveHeader(t *testing.T) {
	s := newSession(t)
	w := s.watch()
	for range 3 {
		revision := s.put("a", "x")
		response := w.next()
		want(t, "events in a response", len(response.Events), 1)
		want(t, "revision of the response", response.Header.Revision, revision)
	}
}

func TestWatchFromThePast(t *testing.T) {
	s := newSession(t)
	a1 := s.put("a", "one")
	b1 := s.put("b", "one")
	a2 := s.put("a", "two")
	gone := s.remove("", clientv3.WithPrefix()).Header.Revision

	w := s.watch(clientv3.WithRev(b1))
	a3 := s.put("a", "three")
	w.expect("the past, then the present", putOf(pair{"b", "one", b1, b1, 1, 0}),
		putOf(pair{"a", "two", a1, a2, 2, 0}), deletionOf("a", gone), deletionOf("b", gone),
		putOf(pair{"a", "three", a3, a3, 1, 0}))
}

func TestWatchFromTheFuture(t *testing.T) {
	s := newSession(t)
	first := s.put("a", "0")
	w := s.watch(clientv3.WithRev(first + 3))
	for i := range 3 {
		s.put("a", fmt.Sprint(i+1))
	}
	w.expect("from the asked revision on", putOf(pair{"a", "3", first, first + 3, 4, 0}))
}

func TestWatchAcrossCompaction(t *testing.T) {
	s := newSession(t)
	a1 := s.put("a", "one")
	a2 := s.put("a", "two")
	gone := s.remove("a").Header.Revision
	a3 := s.put("a", "three")
	live := s.watch()
	s.compact(gone)

	old := s.watch(clientv3.WithRev(a1))
	last := old.next()
	want(t, "canceled", last.Canceled, true)
	want(t, "compact revision", last.CompactRevision, gone)
	want(t, "events in it", len(last.Events), 0)
	wantCompacted(t, "error of the watch", last.Err())
	if _, open := <-old.channel; open {
		t.Error("the watch goes on after its last response")
	}

	resumed := s.watch(clientv3.WithRev(last.CompactRevision), clientv3.WithPrevKV())
	three := pair{"a", "three", a3, a3, 1, 0}
	resumed.expect("from the compact revision on", deletionOf("a", gone), putOf(three))
	a4 := s.put("a", "four")
	resumed.expect("and further", putOf(pair{"a", "four", a3, a4, 2, 0}).after(three))
	live.expect("a watch that was up to date", putOf(pair{"a", "four", a3, a4, 2, 0}))

	_, err := s.Get(testContext(t), s.key("a"), clientv3.WithRev(a2))
	wantCompacted(t, "a read below", err)
}

func TestWatchPreviousPairs(t *testing.T) {
	s := newSession(t)
	w := s.watch(clientv3.WithPrevKV())
	a1 := s.put("a", "one")
	a2 := s.put("a", "two")
	gone := s.remove("a").Header.Revision
	a3 := s.put("a", "three")
	wanted := []change{
		putOf(pair{"a", "one", a1, a1, 1, 0}),
		putOf(pair{"a", "two", a1, a2, 2, 0}).after(pair{"a", "one", a1, a1, 1, 0}),
		deletionOf("a", gone).after(pair{"a", "two", a1, a2, 2, 0}),
		putOf(pair{"a", "three", a3, a3, 1, 0}),
	}
	w.expect("as it happens", wanted...)
	s.watch(clientv3.WithPrevKV(), clientv3.WithRev(a1)).expect("afterwards", wanted...)
}

func TestWatchFilters(t *testing.T) {
	s := newSession(t)
	deletions, puts := s.watch(clientv3.WithFilterPut()), s.watch(clientv3.WithFilterDelete())
	a1 := s.put("a", "one")
	gone1 := s.remove("a").Header.Revision
	a2 := s.put("a", "two")
	gone2 := s.remove("a").Header.Revision
	deletions.expect("no puts", deletionOf("a", gone1), deletionOf("a", gone2))
	puts.expect("no deletions", putOf(pair{"a", "one", a1, a1, 1, 0}), putOf(pair{"a", "two", a2, a2, 1, 0}))
	s.watch(clientv3.WithFilterPut(), clientv3.WithRev(a1)).
		expect("no puts, afterwards", deletionOf("a", gone1), deletionOf("a", gone2))
}

func TestWatchTxnComesWhole(t *testing.T) {
	s := newSession(t)
	old := s.put("old", "1")
	live := s.watch()
	now := s.commit(s.txn().Then(clientv3.OpPut(s.key("b"), "1"), clientv3.OpDelete(s.key("old")),
		clientv3.OpPut(s.key("a"), "2"))).Header.Revision
	late := s.watch(clientv3.WithRev(now))
	want(t, "revision", now, old+1)
	wanted := fmt.Sprint([]change{putOf(pair{"b", "1", now, now, 1, 0}), deletionOf("old", now),
		putOf(pair{"a", "2", now, now, 1, 0})})
	for what, w := range map[string]*watching{"as it happens": live, "afterwards": late} {
		var got []change
		for _, event := range w.next().Events {
			got = append(got, w.change(event))
		}
		want(t, what+", in one response", fmt.Sprint(got), wanted)
	}
}

func TestManyWatchesOnOneStream(t *testing.T) {
	s := newSession(t)
	var watches []*watching
	for i := range 50 {
		watches = append(watches, s.watchKey(fmt.Sprint(i)))
	}
	for i := 0; i < 50; i += 2 {
		watches[i].stop()
		for range watches[i].channel {
			t.Errorf("watch %d got something", i)
		}
	}
	revisions := make([]int64, 50)
	for i := range 50 {
		revisions[i] = s.put(fmt.Sprint(i), "1")
	}
	for i := 1; i < 50; i += 2 {
		watches[i].expect(fmt.Sprintf("watch %d", i),
			putOf(pair{fmt.Sprint(i), "1", revisions[i], revisions[i], 1, 0}))
	}
}

func TestWatchProgress(t *testing.T) {
	s := newSession(t)
	ctx := testContext(t)
	channel := s.Watch(ctx, s.key(""), clientv3.WithPrefix(), clientv3.WithCreatedNotify(),
		clientv3.WithProgressNotify())
	w := &watching{s: s, channel: channel}
	want(t, "created", w.next().Created, true)
	s.put("a", "1")
	want(t, "the event", len(w.next().Events), 1)
	other, err := s.Put(ctx, "/go-elsewhere", "not watched")
	if err != nil {
		t.Fatal(err)
	}
	// A request that comes while a watch lags is dropped, so it is repeated.
	for {
		if err := s.RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case response := <-channel:
			want(t, "is progress", response.IsProgressNotify(), true)
			if response.Header.Revision < other.Header.Revision {
				continue
			}
			want(t, "revision of the progress", response.Header.Revision, other.Header.Revision)
			return
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("no answer to any request for progress")
		}
	}
}
