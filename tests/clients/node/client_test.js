// What a Node program sees of kvist through the package etcd3.
//
// Black box: knows only the endpoint. The server must have no other writer while the suite runs, since
// revisions are compared with exact values and the history is compacted. The library gives every 64-bit
// number as a decimal string.
'use strict';

const assert = require('node:assert/strict');
const { randomBytes } = require('node:crypto');
const { on, once } = require('node:events');
const { after, test } = require('node:test');
const { Etcd3, EtcdError, GRPCOutOfRangeError } = require('etcd3');

const HOST = process.env.KVIST_ENDPOINT ?? '127.0.0.1:2379';
const TIMEOUT_MS = 10_000;
const COMPACTED = 'etcdserver: mvcc: required revision has been compacted';
const FUTURE = 'etcdserver: mvcc: required revision is a future revision';
const run = randomBytes(6).toString('hex');

function connect() {
  return new Etcd3({ hosts: HOST, defaultCallOptions: (context) =>
    context.isStream ? {} : { deadline: Date.now() + TIMEOUT_MS } });
}

const client = connect();
after(() => client.close());

/** A test by the name of what it shows, given a key prefix that no other test or run uses. */
function check(behaviour, body) {
  test(behaviour, { timeout: 3 * TIMEOUT_MS }, () => body(`/node/${run}/${behaviour.replaceAll(' ', '-')}/`));
}

/** Puts and returns the revision of the write. */
async function put(key, value) {
  const reply = await client.put(key).value(value);
  return Number(reply.header.revision);
}

/** The pairs of a reply as [name, value], each key without `prefix`. */
function pairs(reply, prefix) {
  return reply.kvs.map((kv) => [kv.key.toString().slice(prefix.length), kv.value.toString()]);
}

async function list(prefix) {
  return pairs(await client.getAll().prefix(prefix).exec(), prefix);
}

/** Starts a watch; `take` gives its next events as [type, key, value, mod_revision, version, prev value]. */
async function startWatch(builder) {
  const watcher = builder.watcher(); // not create(): that could miss what directly follows the start
  const responses = on(watcher, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) });
  await once(watcher, 'connected');
  const events = [];
  const take = async (count) => {
    while (events.length < count) {
      const { value: [response] } = await responses.next();
      events.push(...response.events);
    }
    return events.splice(0, count).map(({ type, kv, prev_kv: prev }) => [
      type, kv.key.toString(), kv.value.toString(), Number(kv.mod_revision), Number(kv.version),
      prev && prev.value.toString(),
    ]);
  };
  return { watcher, take };
}

async function assertOutOfRange(promise, text) {
  await assert.rejects(Promise.resolve(promise), (error) => {
    assert.ok(error instanceof GRPCOutOfRangeError, `${error}`);
    assert.equal(error.message, `11 OUT_OF_RANGE: ${text}`);
    return true;
  });
}

check('put then get returns value and revisions', async (prefix) => {
  const key = `${prefix}k`;
  assert.equal(await client.get(key), null);
  assert.equal(await client.get(key).exists(), false);

  const first = await put(key, 'one');
  let { kvs: [kv], count } = await client.get(key).exec();
  assert.deepEqual([kv.key.toString(), kv.value.toString(), count], [key, 'one', '1']);
  assert.deepEqual([kv.create_revision, kv.mod_revision, kv.version, kv.lease],
    [`${first}`, `${first}`, '1', '0']);

  const previous = await client.put(key).value('two').getPrevious();
  assert.deepEqual([previous.value.toString(), previous.mod_revision], ['one', `${first}`]);
  ({ kvs: [kv] } = await client.get(key).exec());
  assert.deepEqual([kv.value.toString(), kv.create_revision, kv.mod_revision, kv.version],
    ['two', `${first}`, `${first + 1}`, '2']);
});

check('get by prefix with limit count and keys', async (prefix) => {
  for (const name of ['b', 'a', 'c']) await put(prefix + name, name);
  await put(`${prefix.slice(0, -1)}0`, 'just past the prefix');
  const ask = () => client.getAll().prefix(prefix);
  const all = [['a', 'a'], ['b', 'b'], ['c', 'c']];

  assert.deepEqual(await list(prefix), all);
  let page = await ask().limit(2).exec();
  assert.deepEqual([pairs(page, prefix), page.more, page.count], [all.slice(0, 2), true, '3']);
  page = await ask().limit(3).exec();
  assert.deepEqual([pairs(page, prefix), page.more, page.count], [all, false, '3']);
  assert.deepEqual(await ask().keys(), ['a', 'b', 'c'].map((name) => prefix + name));
  assert.equal(await ask().count(), 3);
});

check('get sorted by every target in both orders', async (prefix) => {
  // After these puts (key, value) each of the five targets gives an order of its own.
  for (const [name, value] of ['cx', 'ax', 'dx', 'b2', 'dx', 'dx', 'd3', 'c1', 'ax', 'a4']) {
    await put(prefix + name, value);
  }
  const orders = { Key: 'abcd', Version: 'bcad', Create: 'cadb', Mod: 'bdca', Value: 'cbda' };
  for (const [target, ascending] of Object.entries(orders)) {
    const names = async (order, limit) => {
      const reply = await client.getAll().prefix(prefix).sort(target, order).limit(limit).exec();
      return pairs(reply, prefix).map(([name]) => name).join('');
    };
    const descending = [...ascending].reverse().join('');
    assert.equal(await names('Ascend', 0), ascending, target);
    assert.equal(await names('Descend', 0), descending, target);
    assert.equal(await names('Descend', 2), descending.slice(0, 2), target);
  }
});

check('get at an old revision', async (prefix) => {
  const first = await put(`${prefix}k`, 'one');
  await put(`${prefix}k`, 'two');
  await put(`${prefix}later`, 'x');
  await client.delete().key(`${prefix}k`);

  const at = async (revision) => {
    const reply = await client.getAll().prefix(prefix).revision(revision).exec();
    assert.equal(reply.header.revision, `${first + 3}`);
    return pairs(reply, prefix);
  };
  assert.deepEqual(await at(first), [['k', 'one']]);
  assert.deepEqual(await at(first + 1), [['k', 'two']]);
  assert.deepEqual(await at(first + 3), [['later', 'x']]);
});

check('delete one key', async (prefix) => {
  const first = await put(`${prefix}k`, 'gone');

  const [previous] = await client.delete().key(`${prefix}k`).getPrevious();
  assert.deepEqual([previous.key.toString(), previous.value.toString()], [`${prefix}k`, 'gone']);
  assert.equal(await client.get(`${prefix}k`), null);

  const again = await client.delete().key(`${prefix}k`);
  assert.deepEqual([again.deleted, again.header.revision], ['0', `${first + 1}`]);
});

check('delete a prefix', async (prefix) => {
  for (const name of ['in/b', 'in/a', 'in/c', 'out']) await put(prefix + name, name);

  const previous = await client.delete().prefix(`${prefix}in/`).getPrevious();
  assert.deepEqual(previous.map((kv) => kv.value.toString()), ['in/a', 'in/b', 'in/c']);
  assert.deepEqual(await list(prefix), [['out', 'out']]);
  const reply = await client.delete().prefix(prefix);
  assert.equal(reply.deleted, '1');
});

check('a compare and swap that succeeds', async (prefix) => {
  const key = `${prefix}k`;
  const first = await put(key, 'old');

  const { succeeded, header, responses } = await client
    .if(key, 'Value', '==', 'old').and(key, 'Version', '==', 1)
    .and(key, 'Create', '!=', 0).and(key, 'Mod', '<', first + 1)
    .then(client.put(key).value('new'), client.get(key), client.delete().key(`${prefix}absent`))
    .else(client.put(key).value('wrong'))
    .commit();
  assert.deepEqual([succeeded, header.revision], [true, `${first + 1}`]);
  assert.deepEqual(responses.map((reply) => reply.response),
    ['response_put', 'response_range', 'response_delete_range']);
  const [kv] = responses[1].response_range.kvs;
  assert.deepEqual([kv.value.toString(), kv.mod_revision, kv.version], ['new', `${first + 1}`, '2']);
  assert.equal(responses[2].response_delete_range.deleted, '0');
});

check('a compare and swap that fails runs the else branch', async (prefix) => {
  const key = `${prefix}k`;
  const first = await put(key, 'current');

  const { succeeded, responses } = await client.if(key, 'Value', '==', 'stale')
    .then(client.put(key).value('wrong'))
    .else(client.get(key), client.put(`${prefix}loser`).value('1'))
    .commit();
  assert.equal(succeeded, false);
  assert.deepEqual(pairs(responses[0].response_range, prefix), [['k', 'current']]);
  assert.equal(responses[1].response_put.header.revision, `${first + 1}`);
  assert.deepEqual(await list(prefix), [['k', 'current'], ['loser', '1']]);
});

check('watch from now', async (prefix) => {
  await put(`${prefix}k`, 'before');
  const { watcher, take } = await startWatch(client.watch().prefix(prefix).withPreviousKV());

  const first = await put(`${prefix}k`, 'one');
  await client.delete().key(`${prefix}k`);
  await client.if(`${prefix}k`, 'Version', '==', 0)
    .then(client.put(`${prefix}x`).value('1'), client.put(`${prefix}y`).value('2')).commit();

  assert.deepEqual(await take(4), [
    ['Put', `${prefix}k`, 'one', first, 2, 'before'],
    ['Delete', `${prefix}k`, '', first + 1, 0, 'one'],
    ['Put', `${prefix}x`, '1', first + 2, 1, null],
    ['Put', `${prefix}y`, '2', first + 2, 1, null],
  ]);
  await watcher.cancel();
});

check('watch from an old revision across a compaction', async (prefix) => {
  const key = `${prefix}k`;
  const first = await put(key, 'one');
  await put(key, 'two');
  await put(key, 'three');
  await client.delete().key(key);
  const compacted = first + 1;
  await client.kv.compact({ revision: compacted });

  // The library keeps the reason of the cancel, which is empty, and drops the compact revision. A client
  // of its own, since ending the last watch of a client also ends its stream.
  const other = connect();
  const [error] = await once(other.watch().key(key).startRevision(`${first}`).watcher(), 'error');
  assert.ok(error instanceof EtcdError, `${error}`);
  assert.equal(error.message, 'Watcher canceled: ');
  other.close();

  const { watcher, take } = await startWatch(client.watch().key(key).startRevision(`${compacted}`));
  const history = await take(3);
  const live = await put(key, 'live');
  assert.deepEqual([...history, ...await take(1)], [
    ['Put', key, 'two', first + 1, 2, null],
    ['Put', key, 'three', first + 2, 3, null],
    ['Delete', key, '', first + 3, 0, null],
    ['Put', key, 'live', live, 1, null],
  ]);
  await watcher.cancel();
});

check('a compacted revision is out of range', async (prefix) => {
  const first = await put(`${prefix}k`, 'one');
  const second = await put(`${prefix}k`, 'two');
  await client.kv.compact({ revision: second });

  await assertOutOfRange(client.get(`${prefix}k`).revision(first).exec(), COMPACTED);
  await assertOutOfRange(client.kv.compact({ revision: second }), COMPACTED);
  assert.equal(await client.get(`${prefix}k`).revision(second), 'two');
});

check('a future revision is out of range', async (prefix) => {
  const now = await put(`${prefix}k`, 'one');
  await assertOutOfRange(client.get(`${prefix}k`).revision(now + 1).exec(), FUTURE);
  await assertOutOfRange(client.kv.compact({ revision: now + 1 }), FUTURE);
});

check('status and members name one leader', async () => {
  const status = await client.maintenance.status();
  assert.match(status.version, /^\d+\.\d+\.\d+/);
  assert.ok(Number(status.dbSize) > 0, status.dbSize);
  const { members } = await client.cluster.memberList({});
  assert.notEqual(status.leader, '0');
  assert.deepEqual(members.map((member) => member.ID), [status.leader]);
  assert.equal(status.header.member_id, status.leader);
});

check('any bytes in key and value', async (prefix) => {
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const key = Buffer.concat([Buffer.from(prefix), Buffer.from([0xff, 0xfe, 0x00, 0x80])]);
  await put(key, everyByte);
  await put(`${prefix}empty`, '');

  assert.deepEqual(await client.get(key).buffer(), everyByte);
  assert.equal(await client.get(`${prefix}empty`), '');
  assert.deepEqual(await client.getAll().prefix(prefix).keyBuffers(), [Buffer.from(`${prefix}empty`), key]);
});

check('keys longer than 511 bytes', async (prefix) => {
  const stem = prefix + 'k'.repeat(2000); // the two keys differ in their last byte only
  await put(`${stem}1`, 'one');
  await put(`${stem}2`, 'two');

  assert.equal(await client.get(`${stem}1`), 'one');
  assert.equal(await client.get(stem), null);
  assert.deepEqual(await list(stem), [['1', 'one'], ['2', 'two']]);
  assert.equal((await client.delete().key(`${stem}1`)).deleted, '1');
  assert.deepEqual(await list(stem), [['2', 'two']]);
});
