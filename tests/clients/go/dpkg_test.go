package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Real data: the package database of the Debian machine this runs on, a key for each package.
//
// TestDpkg loads it. After a restart of the server, TestDpkgAfterRestart, asked for with
// KVIST_DPKG_PHASE=verify, finds everything again, if nobody has written to the store or installed a
// package in between.

const (
	dpkgFile   = "/var/lib/dpkg/status"
	dpkgPrefix = "/dpkg/"
	// Says from which revisions on the two loads ran, for the check after the restart. It shares the prefix
	// "/dpkg" with the packages, so that a watch sees it as the end of the second load.
	dpkgRunKey = "/dpkg-run"
	pageSize   = 100
	// For all puts of one load together; a disk may take milliseconds for each.
	loadPatience = 5 * time.Minute
)

type paragraph struct{ key, value string }

// readPackages returns a pair for each paragraph of the database, in key order.
func readPackages(t *testing.T) []paragraph {
	t.Helper()
	data, err := os.ReadFile(dpkgFile)
	if err != nil {
		t.Fatalf("this test wants a Debian machine: %v", err)
	}
	count := map[string]int{}
	var list []paragraph
	for text := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		field := func(name string) string {
			for line := range strings.Lines(text) {
				if value, ok := strings.CutPrefix(line, name+": "); ok {
					return strings.TrimSpace(value)
				}
			}
			return "unknown"
		}
		key := dpkgPrefix + field("Section") + "/" + field("Package")
		// The same package may be installed for several architectures.
		if count[key]++; count[key] > 1 {
			key += ":" + field("Architecture")
		}
		list = append(list, paragraph{key, text + "\n"})
	}
	slices.SortFunc(list, func(a, b paragraph) int { return strings.Compare(a.key, b.key) })
	if len(list) < 50 {
		t.Fatalf("only %d packages in %s", len(list), dpkgFile)
	}
	return list
}

// changeThird is what the second load brings: another value for every third package.
func changeThird(list []paragraph) []paragraph {
	changed := slices.Clone(list)
	for i := range changed {
		if i%3 == 0 {
			changed[i].value += "Changed: yes\n"
		}
	}
	return changed
}

// load puts the list in order, and returns the revision before it.
func load(s *session, list []paragraph) int64 {
	s.t.Helper()
	before := s.revision()
	for i, one := range list {
		reply, err := s.Put(testContext(s.t), one.key, one.value)
		if err != nil {
			s.t.Fatalf("Put %s: %v", one.key, err)
		}
		want(s.t, "revision of the put", reply.Header.Revision, before+int64(i)+1)
	}
	return before
}

// compareLoaded checks pairs against the load that started after revision mod, the first having started after
// revision create.
func compareLoaded(t *testing.T, what string, kvs []*mvccpb.KeyValue, list []paragraph, create, mod int64) {
	t.Helper()
	want(t, what+": pairs", len(kvs), len(list))
	version := int64(1)
	if mod != create {
		version = 2
	}
	for i := range min(len(kvs), len(list)) {
		kv, n := kvs[i], int64(i)+1
		if string(kv.Key) != list[i].key || !bytes.Equal(kv.Value, []byte(list[i].value)) ||
			kv.CreateRevision != create+n || kv.ModRevision != mod+n || kv.Version != version || kv.Lease != 0 {
			t.Fatalf("%s: pair %d is\n%s\nwant %+v created at %d, changed at %d, version %d", what, i, brief(kv),
				brief(list[i]), create+n, mod+n, version)
		}
	}
}

func getPackages(s *session, opts ...clientv3.OpOption) *clientv3.GetResponse {
	s.t.Helper()
	reply, err := s.Get(testContext(s.t), dpkgPrefix, append(opts, clientv3.WithPrefix())...)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply
}

// getPages reads all packages page by page, each starting right after the last key of the one before.
func getPages(s *session, total int) []*mvccpb.KeyValue {
	s.t.Helper()
	var kvs []*mvccpb.KeyValue
	from, end := dpkgPrefix, clientv3.GetPrefixRangeEnd(dpkgPrefix)
	for more := true; more; from = string(kvs[len(kvs)-1].Key) + "\x00" {
		page, err := s.Get(testContext(s.t), from, clientv3.WithRange(end), clientv3.WithLimit(pageSize))
		if err != nil {
			s.t.Fatal(err)
		}
		left := total - len(kvs)
		want(s.t, "count from here on", page.Count, int64(left))
		want(s.t, "pairs in the page", len(page.Kvs), min(left, pageSize))
		want(s.t, "more after the page", page.More, left > pageSize)
		kvs, more = append(kvs, page.Kvs...), page.More
	}
	return kvs
}

// collectUntilRun returns all events before that of dpkgRunKey.
func collectUntilRun(w *watching) []*clientv3.Event {
	var events []*clientv3.Event
	for response := range w.channel {
		for _, event := range response.Events {
			if string(event.Kv.Key) == dpkgRunKey {
				return events
			}
			events = append(events, event)
		}
	}
	return events
}

func TestDpkg(t *testing.T) {
	if os.Getenv("KVIST_DPKG_PHASE") == "verify" {
		t.Skip("KVIST_DPKG_PHASE=verify only looks at what an earlier run has loaded")
	}
	s := newSession(t)
	s.prefix = ""
	s.remove(dpkgPrefix, clientv3.WithPrefix())
	packages := readPackages(t)
	changed := changeThird(packages)

	first := load(s, packages)
	compareLoaded(t, "all at once", getPackages(s).Kvs, packages, first, first)
	compareLoaded(t, "page by page", getPages(s, len(packages)), packages, first, first)
	count := getPackages(s, clientv3.WithCountOnly())
	want(t, "count", count.Count, int64(len(packages)))

	ctx, stop := context.WithTimeout(context.Background(), loadPatience)
	defer stop()
	w := &watching{s, s.Watch(ctx, "/dpkg", clientv3.WithPrefix(), clientv3.WithPrevKV(),
		clientv3.WithCreatedNotify()), stop}
	want(t, "created", w.next().Created, true)
	collected := make(chan []*clientv3.Event, 1)
	go func() { collected <- collectUntilRun(w) }()
	second := load(s, changed)
	s.put(dpkgRunKey, fmt.Sprint(first, " ", second))
	checkSecondLoad(t, <-collected, packages, changed, first, second)

	loaded := first + int64(len(packages))
	compareLoaded(t, "now", getPackages(s).Kvs, changed, first, second)
	compareLoaded(t, "as first loaded", getPackages(s, clientv3.WithRev(loaded)).Kvs, packages, first, first)
	s.compact(second + int64(len(packages)))
	checkCompacted(s, changed, first, second)
}

// checkSecondLoad wants every put of the second load exactly once and in order, with the pair before it.
func checkSecondLoad(
	t *testing.T, events []*clientv3.Event, packages, changed []paragraph, first, second int64,
) {
	t.Helper()
	var now, before []*mvccpb.KeyValue
	for _, event := range events {
		want(t, "type", event.Type, clientv3.EventTypePut)
		now, before = append(now, event.Kv), append(before, event.PrevKv)
	}
	compareLoaded(t, "events", now, changed, first, second)
	compareLoaded(t, "pairs before the events", before, packages, first, first)
}

// checkCompacted wants the second load whole, and what was before it out of reach.
func checkCompacted(s *session, changed []paragraph, first, second int64) {
	s.t.Helper()
	n := int64(len(changed))
	_, err := s.Get(testContext(s.t), dpkgPrefix, clientv3.WithPrefix(), clientv3.WithRev(first+n))
	wantCompacted(s.t, "reading the first load after compaction", err)
	compareLoaded(s.t, "after compaction", getPackages(s).Kvs, changed, first, second)
	compareLoaded(s.t, "after compaction, page by page", getPages(s, len(changed)), changed, first, second)
	atCompacted := getPackages(s, clientv3.WithRev(second+n))
	compareLoaded(s.t, "at the compacted revision", atCompacted.Kvs, changed, first, second)
}

func TestDpkgAfterRestart(t *testing.T) {
	if os.Getenv("KVIST_DPKG_PHASE") != "verify" {
		t.Skip("needs a store that TestDpkg has filled, and KVIST_DPKG_PHASE=verify")
	}
	s := newSession(t)
	s.prefix = ""
	run := s.get(dpkgRunKey)
	if len(run.Kvs) != 1 {
		t.Fatalf("%s is not in the store; run TestDpkg first", dpkgRunKey)
	}
	var first, second int64
	if _, err := fmt.Sscan(string(run.Kvs[0].Value), &first, &second); err != nil {
		t.Fatalf("%s holds %q: %v", dpkgRunKey, run.Kvs[0].Value, err)
	}
	changed := changeThird(readPackages(t))
	n := len(changed)
	want(t, "revision of the store", run.Header.Revision, second+int64(n)+1)
	want(t, "revision of the last put", run.Kvs[0].ModRevision, second+int64(n)+1)
	checkCompacted(s, changed, first, second)

	// What was not compacted can still be watched: the last package, and then the end of the load.
	w := s.watchKey("/dpkg", clientv3.WithPrefix(), clientv3.WithRev(second+int64(n)))
	events := collectUntilRun(w)
	if len(events) != 1 {
		t.Fatalf("%d events from the compacted revision on, want 1", len(events))
	}
	want(t, "key of it", string(events[0].Kv.Key), changed[n-1].key)
	want(t, "value of it", string(events[0].Kv.Value), changed[n-1].value)
}
