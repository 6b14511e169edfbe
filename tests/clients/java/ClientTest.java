import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.common.exception.CompactedException;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.GetOption.SortOrder;
import io.etcd.jetcd.options.GetOption.SortTarget;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchEvent.EventType;
import io.etcd.jetcd.watch.WatchResponse;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/**
 * What a Java program sees of kvist through jetcd.
 *
 * <p>Black box: knows only the endpoint. The server must have no other writer while the suite runs, since
 * revisions are compared with exact values and the history is compacted.
 */
class ClientTest {
  private static final String ENDPOINT = System.getenv().getOrDefault("KVIST_ENDPOINT", "127.0.0.1:2379");
  private static final long TIMEOUT_S = 10;
  private static final String COMPACTED = "etcdserver: mvcc: required revision has been compacted";
  private static final String FUTURE = "etcdserver: mvcc: required revision is a future revision";
  private static final String RUN = UUID.randomUUID().toString();
  private static final Client client = Client.builder().endpoints("http://" + ENDPOINT).build();
  private static final KV kv = client.getKVClient();

  private String prefix;

  @BeforeEach
  void choosePrefixThatNoOtherTestUses(TestInfo test) {
    prefix = "/java/" + RUN + "/" + test.getTestMethod().orElseThrow().getName() + "/";
  }

  @AfterAll
  static void close() {
    client.close();
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, UTF_8);
  }

  private static <T> T await(CompletableFuture<T> reply) throws Exception {
    return reply.get(TIMEOUT_S, TimeUnit.SECONDS);
  }

  /** Puts and returns the revision of the write. */
  private static long put(String key, String value) throws Exception {
    return await(kv.put(bytes(key), bytes(value))).getHeader().getRevision();
  }

  private static GetResponse get(String key) throws Exception {
    return await(kv.get(bytes(key)));
  }

  private GetResponse getPrefix(GetOption.Builder options) throws Exception {
    return await(kv.get(bytes(prefix), options.isPrefix(true).build()));
  }

  /** The pairs of a reply as {@code name=value name=value}, each key without the prefix. */
  private String pairs(GetResponse reply) {
    return reply.getKvs().stream()
        .map(pair -> pair.getKey().toString().substring(prefix.length()) + "=" + pair.getValue())
        .collect(Collectors.joining(" "));
  }

  private String list() throws Exception {
    return pairs(getPrefix(GetOption.builder()));
  }

  private static void assertOutOfRange(CompletableFuture<?> reply, String text) {
    Throwable cause = assertThrows(ExecutionException.class, () -> await(reply)).getCause();
    Status status = assertInstanceOf(StatusRuntimeException.class, cause).getStatus();
    assertEquals(Status.Code.OUT_OF_RANGE, status.getCode());
    assertEquals(text, status.getDescription());
  }

  /** An event in the terms that the tests compare. */
  private record Seen(EventType type, String key, String value, long modRevision, long version) {
    static Seen of(WatchEvent event) {
      KeyValue now = event.getKeyValue();
      return new Seen(event.getEventType(), now.getKey().toString(), now.getValue().toString(),
          now.getModRevision(), now.getVersion());
    }
  }

  /** A watch whose events are taken one by one; it has begun when the constructor returns. */
  private static class Events implements AutoCloseable {
    private final BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    private final Watch.Watcher watcher;

    Events(String key, WatchOption.Builder options) throws Exception {
      watcher = client.getWatchClient().watch(bytes(key), options.withCreateNotify(true).build(),
          Watch.listener(this::add, queue::add));
      assertTrue(next(WatchResponse.class).isCreatedNotify());
    }

    private void add(WatchResponse response) {
      if (response.isCreatedNotify()) {
        queue.add(response);
      }
      queue.addAll(response.getEvents());
    }

    WatchEvent next() throws InterruptedException {
      return next(WatchEvent.class);
    }

    <T> T next(Class<T> type) throws InterruptedException {
      return assertInstanceOf(type, queue.poll(TIMEOUT_S, TimeUnit.SECONDS));
    }

    @Override
    public void close() {
      watcher.close();
    }
  }

  @Test
  void putThenGetReturnsValueAndRevisions() throws Exception {
    String key = prefix + "k";
    assertEquals(0, get(key).getCount());

    long first = put(key, "one");
    GetResponse found = get(key);
    KeyValue pair = found.getKvs().get(0);
    assertEquals(key + "=one", pair.getKey() + "=" + pair.getValue());
    assertEquals(List.of(first, first, 1L, 0L, 1L), List.of(pair.getCreateRevision(),
        pair.getModRevision(), pair.getVersion(), pair.getLease(), found.getCount()));

    var second = await(kv.put(bytes(key), bytes("two"), PutOption.builder().withPrevKV().build()));
    assertEquals(first + 1, second.getHeader().getRevision());
    assertEquals(bytes("one"), second.getPrevKv().getValue());
    pair = get(key).getKvs().get(0);
    assertEquals(bytes("two"), pair.getValue());
    assertEquals(List.of(first, first + 1, 2L),
        List.of(pair.getCreateRevision(), pair.getModRevision(), pair.getVersion()));
  }

  @Test
  void getByPrefixWithLimitCountAndKeysOnly() throws Exception {
    for (String name : List.of("b", "a", "c")) {
      put(prefix + name, name);
    }
    put(prefix.substring(0, prefix.length() - 1) + "0", "just past the prefix");

    assertEquals("a=a b=b c=c", list());
    GetResponse page = getPrefix(GetOption.builder().withLimit(2));
    assertEquals("a=a b=b true 3", pairs(page) + " " + page.isMore() + " " + page.getCount());
    page = getPrefix(GetOption.builder().withLimit(3));
    assertEquals("a=a b=b c=c false 3", pairs(page) + " " + page.isMore() + " " + page.getCount());
    assertEquals("a= b= c=", pairs(getPrefix(GetOption.builder().withKeysOnly(true))));
    GetResponse count = getPrefix(GetOption.builder().withCountOnly(true));
    assertEquals(" false 3", pairs(count) + " " + count.isMore() + " " + count.getCount());
  }

  @Test
  void getSortedByEveryTargetInBothOrders() throws Exception {
    // After these puts (key, value) each of the five targets gives an order of its own.
    for (String put : "cx ax dx b2 dx dx d3 c1 ax a4".split(" ")) {
      put(prefix + put.charAt(0), put.substring(1));
    }
    var orders = Map.of(SortTarget.KEY, "abcd", SortTarget.VERSION, "bcad", SortTarget.CREATE, "cadb",
        SortTarget.MOD, "bdca", SortTarget.VALUE, "cbda");
    for (var target : orders.keySet()) {
      String ascending = orders.get(target);
      String descending = new StringBuilder(ascending).reverse().toString();
      assertEquals(ascending, sorted(target, SortOrder.ASCEND, 0), target.name());
      assertEquals(descending, sorted(target, SortOrder.DESCEND, 0), target.name());
      assertEquals(descending.substring(0, 2), sorted(target, SortOrder.DESCEND, 2), target.name());
    }
  }

  private String sorted(SortTarget target, SortOrder order, long limit) throws Exception {
    var options = GetOption.builder().withSortField(target).withSortOrder(order).withLimit(limit);
    return getPrefix(options).getKvs().stream()
        .map(pair -> pair.getKey().toString().substring(prefix.length())).collect(Collectors.joining());
  }

  @Test
  void getAtAnOldRevision() throws Exception {
    long first = put(prefix + "k", "one");
    put(prefix + "k", "two");
    put(prefix + "later", "x");
    await(kv.delete(bytes(prefix + "k")));

    GetResponse old = getPrefix(GetOption.builder().withRevision(first));
    assertEquals("k=one", pairs(old));
    assertEquals(first + 3, old.getHeader().getRevision());
    assertEquals("k=two", pairs(getPrefix(GetOption.builder().withRevision(first + 1))));
    assertEquals("later=x", pairs(getPrefix(GetOption.builder().withRevision(first + 3))));
  }

  @Test
  void deleteOneKey() throws Exception {
    ByteSequence key = bytes(prefix + "k");
    long first = put(prefix + "k", "gone");
    DeleteOption options = DeleteOption.builder().withPrevKV(true).build();

    var deleted = await(kv.delete(key, options));
    assertEquals(List.of(1L, first + 1), List.of(deleted.getDeleted(), deleted.getHeader().getRevision()));
    assertEquals(1, deleted.getPrevKvs().size());
    assertEquals(key, deleted.getPrevKvs().get(0).getKey());
    assertEquals(bytes("gone"), deleted.getPrevKvs().get(0).getValue());
    assertEquals(0, get(prefix + "k").getCount());

    var again = await(kv.delete(key, options));
    assertEquals(List.of(0L, first + 1, List.of()),
        List.of(again.getDeleted(), again.getHeader().getRevision(), again.getPrevKvs()));
  }

  @Test
  void deleteAPrefix() throws Exception {
    for (String name : List.of("in/b", "in/a", "in/c", "out")) {
      put(prefix + name, name);
    }

    DeleteOption options = DeleteOption.builder().isPrefix(true).withPrevKV(true).build();
    var deleted = await(kv.delete(bytes(prefix + "in/"), options));
    assertEquals(3, deleted.getDeleted());
    assertEquals(List.of(bytes("in/a"), bytes("in/b"), bytes("in/c")),
        deleted.getPrevKvs().stream().map(KeyValue::getValue).toList());
    assertEquals("out=out", list());
  }

  @Test
  void compareAndSwapThatSucceeds() throws Exception {
    ByteSequence key = bytes(prefix + "k");
    long first = put(prefix + "k", "old");

    var reply = await(kv.txn()
        .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(bytes("old"))),
            new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(1)),
            new Cmp(key, Cmp.Op.GREATER, CmpTarget.createRevision(first - 1)),
            new Cmp(key, Cmp.Op.LESS, CmpTarget.modRevision(first + 1)))
        .Then(Op.put(key, bytes("new"), PutOption.builder().withPrevKV().build()),
            Op.get(key, GetOption.DEFAULT),
            Op.delete(bytes(prefix + "absent"), DeleteOption.DEFAULT))
        .Else(Op.put(key, bytes("wrong"), PutOption.DEFAULT))
        .commit());
    assertTrue(reply.isSucceeded());
    assertEquals(first + 1, reply.getHeader().getRevision());
    assertEquals(bytes("old"), reply.getPutResponses().get(0).getPrevKv().getValue());
    KeyValue pair = reply.getGetResponses().get(0).getKvs().get(0);
    assertEquals(bytes("new"), pair.getValue());
    assertEquals(List.of(first + 1, 2L), List.of(pair.getModRevision(), pair.getVersion()));
    assertEquals(0, reply.getDeleteResponses().get(0).getDeleted());
  }

  @Test
  void compareAndSwapThatFailsRunsTheElseBranch() throws Exception {
    ByteSequence key = bytes(prefix + "k");
    long first = put(prefix + "k", "current");

    var reply = await(kv.txn()
        .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(bytes("stale"))))
        .Then(Op.put(key, bytes("wrong"), PutOption.DEFAULT))
        .Else(Op.get(key, GetOption.DEFAULT), Op.put(bytes(prefix + "loser"), bytes("1"), PutOption.DEFAULT))
        .commit());
    assertFalse(reply.isSucceeded());
    assertEquals("k=current", pairs(reply.getGetResponses().get(0)));
    assertEquals(first + 1, reply.getPutResponses().get(0).getHeader().getRevision());
    assertEquals("k=current loser=1", list());
  }

  @Test
  void watchFromNow() throws Exception {
    put(prefix + "k", "before");
    try (Events events = new Events(prefix, WatchOption.builder().isPrefix(true).withPrevKV(true))) {
      long first = put(prefix + "k", "one");
      await(kv.delete(bytes(prefix + "k")));
      await(kv.txn().Then(Op.put(bytes(prefix + "x"), bytes("1"), PutOption.DEFAULT),
          Op.put(bytes(prefix + "y"), bytes("2"), PutOption.DEFAULT)).commit());

      WatchEvent event = events.next();
      assertEquals(new Seen(EventType.PUT, prefix + "k", "one", first, 2), Seen.of(event));
      assertEquals(bytes("before"), event.getPrevKV().getValue());
      event = events.next();
      assertEquals(new Seen(EventType.DELETE, prefix + "k", "", first + 1, 0), Seen.of(event));
      assertEquals(bytes("one"), event.getPrevKV().getValue());
      assertEquals(new Seen(EventType.PUT, prefix + "x", "1", first + 2, 1), Seen.of(events.next()));
      assertEquals(new Seen(EventType.PUT, prefix + "y", "2", first + 2, 1), Seen.of(events.next()));
    }
  }

  @Test
  void watchFromAnOldRevisionAcrossACompaction() throws Exception {
    String key = prefix + "k";
    long first = put(key, "one");
    put(key, "two");
    put(key, "three");
    await(kv.delete(bytes(key)));
    long compacted = first + 1;
    await(kv.compact(compacted));

    try (Events events = new Events(key, WatchOption.builder().withRevision(first))) {
      assertEquals(compacted, events.next(CompactedException.class).getCompactedRevision());
    }
    try (Events events = new Events(key, WatchOption.builder().withRevision(compacted))) {
      assertEquals(new Seen(EventType.PUT, key, "two", first + 1, 2), Seen.of(events.next()));
      assertEquals(new Seen(EventType.PUT, key, "three", first + 2, 3), Seen.of(events.next()));
      assertEquals(new Seen(EventType.DELETE, key, "", first + 3, 0), Seen.of(events.next()));
      long now = put(key, "live");
      assertEquals(new Seen(EventType.PUT, key, "live", now, 1), Seen.of(events.next()));
    }
  }

  @Test
  void aCompactedRevisionIsOutOfRange() throws Exception {
    ByteSequence key = bytes(prefix + "k");
    long first = put(prefix + "k", "one");
    long second = put(prefix + "k", "two");
    await(kv.compact(second));

    assertOutOfRange(kv.get(key, GetOption.builder().withRevision(first).build()), COMPACTED);
    assertOutOfRange(kv.compact(second), COMPACTED);
    assertEquals("k=two", pairs(getPrefix(GetOption.builder().withRevision(second))));
  }

  @Test
  void aFutureRevisionIsOutOfRange() throws Exception {
    long now = put(prefix + "k", "one");

    assertOutOfRange(kv.get(bytes(prefix + "k"), GetOption.builder().withRevision(now + 1).build()), FUTURE);
    assertOutOfRange(kv.compact(now + 1), FUTURE);
  }

  @Test
  void statusAndMembersNameOneLeader() throws Exception {
    var status = await(client.getMaintenanceClient().statusMember("http://" + ENDPOINT));
    assertTrue(status.getVersion().matches("\\d+\\.\\d+\\.\\d+.*"), status.getVersion());
    assertTrue(status.getDbSize() > 0);

    var members = await(client.getClusterClient().listMember()).getMembers();
    assertEquals(List.of(status.getLeader()), members.stream().map(member -> member.getId()).toList());
    assertEquals(status.getLeader(), status.getHeader().getMemberId());
    assertTrue(status.getLeader() != 0);
  }

  @Test
  void anyBytesInKeyAndValue() throws Exception {
    byte[] everyByte = new byte[256];
    for (int i = 0; i < everyByte.length; i++) {
      everyByte[i] = (byte) i;
    }
    ByteSequence key = bytes(prefix).concat(ByteSequence.from(new byte[] {-1, -2, 0, -128})); // not UTF-8
    await(kv.put(key, ByteSequence.from(everyByte)));
    put(prefix + "empty", "");

    assertEquals(ByteSequence.from(everyByte), await(kv.get(key)).getKvs().get(0).getValue());
    assertEquals(ByteSequence.EMPTY, get(prefix + "empty").getKvs().get(0).getValue());
    assertEquals(List.of(bytes(prefix + "empty"), key),
        getPrefix(GetOption.builder()).getKvs().stream().map(KeyValue::getKey).toList());
  }

  @Test
  void keysLongerThan511Bytes() throws Exception {
    prefix += "k".repeat(2000); // the two keys differ in their last byte only
    put(prefix + "1", "one");
    put(prefix + "2", "two");

    assertEquals("1=one", pairs(get(prefix + "1")));
    assertEquals(0, get(prefix).getCount());
    assertEquals("1=one 2=two", list());
    assertEquals(1, await(kv.delete(bytes(prefix + "1"))).getDeleted());
    assertEquals("2=two", list());
  }
}
