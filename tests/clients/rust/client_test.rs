//! What a Rust program sees of kvist through the crate etcd-client.
//!
//! Black box: knows only the endpoint. The server must have no other writer while the suite runs,
//! since revisions are compared with exact values and the history is compacted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, DeleteOptions, Error, Event, EventType, GetOptions,
    GetResponse, KeyValue, PutOptions, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse, WatchOptions,
    WatchResponse, WatchStream,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const OUT_OF_RANGE: i32 = 11; // gRPC status code
const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
const FUTURE: &str = "etcdserver: mvcc: required revision is a future revision";

/// A connected client and a key prefix that no other test or run uses.
async fn connect(test: &str) -> (Client, String) {
    let endpoint = std::env::var("KVIST_ENDPOINT").unwrap_or("127.0.0.1:2379".to_string());
    let options = ConnectOptions::new().with_connect_timeout(TIMEOUT).with_timeout(TIMEOUT);
    let client = Client::connect([endpoint], Some(options)).await.unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (client, format!("/rust/{}/{test}/", now.as_nanos()))
}

/// Puts and returns the revision of the write.
async fn put(client: &mut Client, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> i64 {
    let reply = client.put(key, value, None).await.unwrap();
    reply.header().unwrap().revision()
}

fn prefixed() -> Option<GetOptions> {
    Some(GetOptions::new().with_prefix())
}

/// The pairs of a reply as `name=value name=value`, each key without `prefix`.
fn pairs(reply: &GetResponse, prefix: &str) -> String {
    let text = |kv: &KeyValue| {
        let name = kv.key_str().unwrap().strip_prefix(prefix).unwrap();
        format!("{name}={}", kv.value_str().unwrap())
    };
    reply.kvs().iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Everything under a prefix, as `pairs`.
async fn list(client: &mut Client, prefix: &str) -> String {
    pairs(&client.get(prefix, prefixed()).await.unwrap(), prefix)
}

async fn next(stream: &mut WatchStream) -> WatchResponse {
    let message = tokio::time::timeout(TIMEOUT, stream.message()).await;
    message.expect("no watch response in time").unwrap().expect("the stream ended")
}

/// Reads until `count` events have come.
async fn events(stream: &mut WatchStream, count: usize) -> Vec<Event> {
    let mut all = Vec::new();
    while all.len() < count {
        let response = next(stream).await;
        assert!(!response.canceled(), "canceled: {response:?}");
        all.extend_from_slice(response.events());
    }
    all
}

/// An event as (type, key, value, mod_revision, version).
fn seen(event: &Event) -> (EventType, &str, &str, i64, i64) {
    let kv = event.kv().unwrap();
    let (key, value) = (kv.key_str().unwrap(), kv.value_str().unwrap());
    (event.event_type(), key, value, kv.mod_revision(), kv.version())
}

fn assert_out_of_range<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    let Err(Error::GRpcStatus(status)) = result else { panic!("expected a gRPC status, got {result:?}") };
    assert_eq!((i32::from(status.code()), status.message()), (OUT_OF_RANGE, text));
}

#[tokio::test]
async fn put_then_get_returns_value_and_revisions() {
    let (mut client, prefix) = connect("put").await;
    let key = prefix + "k";
    assert_eq!(client.get(key.as_str(), None).await.unwrap().count(), 0);

    let first = put(&mut client, key.as_str(), "one").await;
    let found = client.get(key.as_str(), None).await.unwrap();
    let kv = &found.kvs()[0];
    assert_eq!((kv.key_str().unwrap(), kv.value_str().unwrap()), (key.as_str(), "one"));
    let revisions = (kv.create_revision(), kv.mod_revision(), kv.version(), kv.lease());
    assert_eq!((revisions, found.count()), ((first, first, 1, 0), 1));

    let options = PutOptions::new().with_prev_key();
    let second = client.put(key.as_str(), "two", Some(options)).await.unwrap();
    assert_eq!(second.header().unwrap().revision(), first + 1);
    assert_eq!(second.prev_key().unwrap().value(), b"one");
    let kv = &client.get(key.as_str(), None).await.unwrap().kvs()[0].clone();
    assert_eq!(kv.value(), b"two");
    assert_eq!((kv.create_revision(), kv.mod_revision(), kv.version()), (first, first + 1, 2));
}

#[tokio::test]
async fn get_by_prefix_with_limit_count_and_keys_only() {
    let (mut client, prefix) = connect("prefix").await;
    for name in ["b", "a", "c"] {
        put(&mut client, format!("{prefix}{name}"), name).await;
    }
    put(&mut client, format!("{}0", &prefix[..prefix.len() - 1]), "just past the prefix").await;
    let ask = || GetOptions::new().with_prefix();

    let all = client.get(prefix.as_str(), Some(ask())).await.unwrap();
    assert_eq!((pairs(&all, &prefix), all.more(), all.count()), ("a=a b=b c=c".to_string(), false, 3));
    let page = client.get(prefix.as_str(), Some(ask().with_limit(2))).await.unwrap();
    assert_eq!((pairs(&page, &prefix), page.more(), page.count()), ("a=a b=b".to_string(), true, 3));
    let page = client.get(prefix.as_str(), Some(ask().with_limit(3))).await.unwrap();
    assert_eq!((page.kvs().len(), page.more(), page.count()), (3, false, 3));
    let keys = client.get(prefix.as_str(), Some(ask().with_keys_only())).await.unwrap();
    assert_eq!(pairs(&keys, &prefix), "a= b= c=");
    let count = client.get(prefix.as_str(), Some(ask().with_count_only())).await.unwrap();
    assert_eq!((count.kvs().len(), count.more(), count.count()), (0, false, 3));
}

#[tokio::test]
async fn get_sorted_by_every_target_in_both_orders() {
    let (mut client, prefix) = connect("sort").await;
    // After these puts (key, value) each of the five targets gives an order of its own.
    for name_and_value in ["cx", "ax", "dx", "b2", "dx", "dx", "d3", "c1", "ax", "a4"] {
        let (name, value) = name_and_value.split_at(1);
        put(&mut client, format!("{prefix}{name}"), value).await;
    }
    use SortOrder::{Ascend, Descend};
    use SortTarget::{Create, Key, Mod, Value, Version};
    for (target, ascending) in
        [(Key, "abcd"), (Version, "bcad"), (Create, "cadb"), (Mod, "bdca"), (Value, "cbda")]
    {
        let descending: String = ascending.chars().rev().collect();
        for (order, limit, expected) in
            [(Ascend, 0, ascending), (Descend, 0, &descending), (Descend, 2, &descending[..2])]
        {
            let options = GetOptions::new().with_prefix().with_sort(target, order).with_limit(limit);
            let found = client.get(prefix.as_str(), Some(options)).await.unwrap();
            let last = |kv: &KeyValue| *kv.key().last().unwrap() as char;
            let names: String = found.kvs().iter().map(last).collect();
            assert_eq!(names, expected, "{target:?} {order:?} limit {limit}");
        }
    }
}

#[tokio::test]
async fn get_at_an_old_revision() {
    let (mut client, prefix) = connect("old").await;
    let key = format!("{prefix}k");
    let first = put(&mut client, key.as_str(), "one").await;
    put(&mut client, key.as_str(), "two").await;
    put(&mut client, format!("{prefix}later"), "x").await;
    client.delete(key.as_str(), None).await.unwrap();

    for (revision, expected) in [(first, "k=one"), (first + 1, "k=two"), (first + 3, "later=x")] {
        let options = GetOptions::new().with_prefix().with_revision(revision);
        let found = client.get(prefix.as_str(), Some(options)).await.unwrap();
        assert_eq!(pairs(&found, &prefix), expected);
        assert_eq!(found.header().unwrap().revision(), first + 3);
    }
}

#[tokio::test]
async fn get_as_a_stream() {
    let (mut client, prefix) = connect("stream").await;
    let expected: Vec<String> = (100..200).map(|number| number.to_string()).collect();
    for number in &expected {
        put(&mut client, format!("{prefix}{number}"), number.as_str()).await;
    }

    let mut stream = client.kv_client().get_stream(prefix.as_str(), prefixed()).await.unwrap();
    let (mut found, mut last) = (Vec::new(), None);
    while let Some(part) = stream.message().await.unwrap() {
        found.extend(part.kvs().iter().map(|kv| kv.value_str().unwrap().to_string()));
        last = Some((part.more(), part.count()));
    }
    assert_eq!((found, last), (expected, Some((false, 100))));
}

#[tokio::test]
async fn delete_one_key() {
    let (mut client, prefix) = connect("delete").await;
    let key = prefix + "k";
    let first = put(&mut client, key.as_str(), "gone").await;
    let options = || Some(DeleteOptions::new().with_prev_key());

    let deleted = client.delete(key.as_str(), options()).await.unwrap();
    assert_eq!((deleted.deleted(), deleted.header().unwrap().revision()), (1, first + 1));
    let [gone] = deleted.prev_kvs() else { panic!("{deleted:?}") };
    assert_eq!((gone.key(), gone.value()), (key.as_bytes(), &b"gone"[..]));
    assert_eq!(client.get(key.as_str(), None).await.unwrap().count(), 0);

    let again = client.delete(key.as_str(), options()).await.unwrap();
    assert_eq!((again.deleted(), again.prev_kvs().len()), (0, 0));
    assert_eq!(again.header().unwrap().revision(), first + 1);
}

#[tokio::test]
async fn delete_a_prefix() {
    let (mut client, prefix) = connect("delete-prefix").await;
    for name in ["in/b", "in/a", "in/c", "out"] {
        put(&mut client, format!("{prefix}{name}"), name).await;
    }

    let options = DeleteOptions::new().with_prefix().with_prev_key();
    let deleted = client.delete(format!("{prefix}in/"), Some(options)).await.unwrap();
    let values: Vec<&str> = deleted.prev_kvs().iter().map(|kv| kv.value_str().unwrap()).collect();
    assert_eq!((deleted.deleted(), values), (3, vec!["in/a", "in/b", "in/c"]));
    assert_eq!(list(&mut client, &prefix).await, "out=out");
}

#[tokio::test]
async fn compare_and_swap_that_succeeds() {
    let (mut client, prefix) = connect("swap").await;
    let key = prefix.clone() + "k";
    let first = put(&mut client, key.as_str(), "old").await;

    let txn = Txn::new()
        .when([
            Compare::value(key.as_str(), CompareOp::Equal, "old"),
            Compare::version(key.as_str(), CompareOp::Equal, 1),
            Compare::create_revision(key.as_str(), CompareOp::NotEqual, 0),
            Compare::mod_revision(key.as_str(), CompareOp::Less, first + 1),
        ])
        .and_then([
            TxnOp::put(key.as_str(), "new", Some(PutOptions::new().with_prev_key())),
            TxnOp::get(key.as_str(), None),
            TxnOp::delete(prefix.clone() + "absent", None),
        ])
        .or_else([TxnOp::put(key.as_str(), "wrong", None)]);
    let reply = client.txn(txn).await.unwrap();
    assert!(reply.succeeded());
    assert_eq!(reply.header().unwrap().revision(), first + 1);
    let replies = reply.op_responses();
    let [TxnOpResponse::Put(put), TxnOpResponse::Get(get), TxnOpResponse::Delete(delete)] = &replies[..]
    else {
        panic!("{replies:?}")
    };
    assert_eq!(put.prev_key().unwrap().value(), b"old");
    assert_eq!(pairs(get, &prefix), "k=new");
    assert_eq!((get.kvs()[0].mod_revision(), get.kvs()[0].version()), (first + 1, 2));
    assert_eq!(delete.deleted(), 0);
}

#[tokio::test]
async fn compare_and_swap_that_fails_runs_the_else_branch() {
    let (mut client, prefix) = connect("swap-else").await;
    let key = prefix.clone() + "k";
    let first = put(&mut client, key.as_str(), "current").await;

    let txn = Txn::new()
        .when([Compare::value(key.as_str(), CompareOp::Equal, "stale")])
        .and_then([TxnOp::put(key.as_str(), "wrong", None)])
        .or_else([TxnOp::get(key.as_str(), None), TxnOp::put(prefix.clone() + "loser", "1", None)]);
    let reply = client.txn(txn).await.unwrap();
    assert!(!reply.succeeded());
    let replies = reply.op_responses();
    let [TxnOpResponse::Get(get), TxnOpResponse::Put(put)] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!(pairs(get, &prefix), "k=current");
    assert_eq!(put.header().unwrap().revision(), first + 1);
    assert_eq!(list(&mut client, &prefix).await, "k=current loser=1");
}

#[tokio::test]
async fn watch_from_now() {
    let (mut client, prefix) = connect("watch").await;
    let [k, x, y] = ["k", "x", "y"].map(|name| prefix.clone() + name);
    put(&mut client, k.as_str(), "before").await;
    let options = WatchOptions::new().with_prefix().with_prev_key();
    let mut watch = client.watch(prefix.as_str(), Some(options)).await.unwrap();
    let created = next(&mut watch).await;
    assert!(created.created());

    let first = put(&mut client, k.as_str(), "one").await;
    client.delete(k.as_str(), None).await.unwrap();
    let both = [TxnOp::put(x.as_str(), "1", None), TxnOp::put(y.as_str(), "2", None)];
    client.txn(Txn::new().and_then(both)).await.unwrap();

    let got = events(&mut watch, 4).await;
    assert_eq!(
        got.iter().map(seen).collect::<Vec<_>>(),
        [
            (EventType::Put, k.as_str(), "one", first, 2),
            (EventType::Delete, k.as_str(), "", first + 1, 0),
            (EventType::Put, x.as_str(), "1", first + 2, 1),
            (EventType::Put, y.as_str(), "2", first + 2, 1),
        ]
    );
    let previous: Vec<_> = got.iter().map(|event| event.prev_kv().map(|kv| kv.value())).collect();
    assert_eq!(previous, [Some(b"before".as_slice()), Some(b"one"), None, None]);

    watch.cancel(created.watch_id()).await.unwrap();
    assert!(next(&mut watch).await.canceled());
}

#[tokio::test]
async fn watch_from_an_old_revision_across_a_compaction() {
    let (mut client, prefix) = connect("watch-old").await;
    let key = prefix + "k";
    let first = put(&mut client, key.as_str(), "one").await;
    put(&mut client, key.as_str(), "two").await;
    put(&mut client, key.as_str(), "three").await;
    client.delete(key.as_str(), None).await.unwrap();
    let compacted = first + 1;
    client.compact(compacted, None).await.unwrap();

    let from = |revision| Some(WatchOptions::new().with_start_revision(revision));
    let mut watch = client.watch(key.as_str(), from(first)).await.unwrap();
    assert!(next(&mut watch).await.created());
    let end = next(&mut watch).await;
    assert_eq!((end.canceled(), end.compact_revision()), (true, compacted));
    assert_eq!((end.events().len(), end.cancel_reason()), (0, ""));

    let mut watch = client.watch(key.as_str(), from(compacted)).await.unwrap();
    assert!(next(&mut watch).await.created());
    let history = events(&mut watch, 3).await;
    let live = put(&mut client, key.as_str(), "live").await;
    let now = events(&mut watch, 1).await;
    assert_eq!(
        history.iter().chain(&now).map(seen).collect::<Vec<_>>(),
        [
            (EventType::Put, key.as_str(), "two", first + 1, 2),
            (EventType::Put, key.as_str(), "three", first + 2, 3),
            (EventType::Delete, key.as_str(), "", first + 3, 0),
            (EventType::Put, key.as_str(), "live", live, 1),
        ]
    );
}

#[tokio::test]
async fn a_compacted_revision_is_out_of_range() {
    let (mut client, prefix) = connect("compacted").await;
    let key = prefix.clone() + "k";
    let first = put(&mut client, key.as_str(), "one").await;
    let second = put(&mut client, key.as_str(), "two").await;
    client.compact(second, None).await.unwrap();

    let at = |revision| Some(GetOptions::new().with_revision(revision));
    assert_out_of_range(client.get(key.as_str(), at(first)).await, COMPACTED);
    assert_out_of_range(client.compact(second, None).await, COMPACTED);
    let found = client.get(key.as_str(), at(second)).await.unwrap();
    assert_eq!(pairs(&found, &prefix), "k=two");
}

#[tokio::test]
async fn a_future_revision_is_out_of_range() {
    let (mut client, prefix) = connect("future").await;
    let key = prefix + "k";
    let now = put(&mut client, key.as_str(), "one").await;

    let options = GetOptions::new().with_revision(now + 1);
    assert_out_of_range(client.get(key.as_str(), Some(options)).await, FUTURE);
    assert_out_of_range(client.compact(now + 1, None).await, FUTURE);
}

#[tokio::test]
async fn status_and_members_name_one_leader() {
    let (mut client, _) = connect("status").await;
    let status = client.status().await.unwrap();
    let version: Vec<&str> = status.version().split('.').collect();
    assert!(version.len() >= 3 && version[..2].iter().all(|part| part.parse::<u32>().is_ok()), "{version:?}");
    assert!(status.db_size() > 0);

    let members = client.member_list().await.unwrap();
    let ids: Vec<u64> = members.members().iter().map(|member| member.id()).collect();
    assert_ne!(status.leader(), 0);
    assert_eq!(ids, [status.leader()]);
    assert_eq!(status.header().unwrap().member_id(), status.leader());
}

#[tokio::test]
async fn any_bytes_in_key_and_value() {
    let (mut client, prefix) = connect("bytes").await;
    let every_byte: Vec<u8> = (0..=255).collect();
    let key = [prefix.as_bytes(), b"\xff\xfe\x00\x80"].concat();
    put(&mut client, key.clone(), every_byte.clone()).await;
    put(&mut client, prefix.clone() + "empty", "").await;

    assert_eq!(client.get(key.clone(), None).await.unwrap().kvs()[0].value(), every_byte);
    let all = client.get(prefix.as_str(), prefixed()).await.unwrap();
    assert_eq!((all.count(), all.kvs()[0].value(), all.kvs()[1].key()), (2, &b""[..], &key[..]));
}

#[tokio::test]
async fn keys_longer_than_511_bytes() {
    let (mut client, prefix) = connect("long").await;
    let stem = prefix + &"k".repeat(2000); // the two keys differ in their last byte only
    put(&mut client, stem.clone() + "1", "one").await;
    put(&mut client, stem.clone() + "2", "two").await;

    let found = client.get(stem.clone() + "1", None).await.unwrap();
    assert_eq!((found.count(), found.kvs()[0].value()), (1, &b"one"[..]));
    assert_eq!(client.get(stem.as_str(), None).await.unwrap().count(), 0);
    assert_eq!(list(&mut client, &stem).await, "1=one 2=two");
    assert_eq!(client.delete(stem.clone() + "1", None).await.unwrap().deleted(), 1);
    assert_eq!(list(&mut client, &stem).await, "2=two");
}
