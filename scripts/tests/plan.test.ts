import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { affectedTests, restrictedWalks, subjects, wholeWalks } from './affected.ts'
import type { Costs } from './costs.ts'
import { fullOnly, partly, whenNear, whyFullOnly, whyLeftOut } from './forms.ts'
import { grouped, newestOnly, oldestOnRequest, runsOf, runsOfShard, runsOnOldest, shardFrom } from './plan.ts'
import { allTests, changedFiles, wholeForm } from './selection.ts'

const root = join(import.meta.dirname, '../..')
const files = allTests(root)

test('files share a process when their imports do not affect the whole process, the longest groups first', () => {
  const alone = ['src/platform/db/crash.test.ts', 'src/adapters/smpp/flood.test.ts']
  const shared = [
    ...['src/domains/ledger/ledger.test.ts', 'src/platform/lib/money.test.ts', 'src/domains/sms/sms.test.ts'],
    // With programs that they end themselves.
    'test/voice/inbound.test.ts',
  ]
  const long = 'test/isolation.test.ts'
  const walks = ['test/console/numbers.test.ts', 'test/console/people.test.ts']
  const cost = (seconds: number) => ({ cpu: 1, seconds, tests: 1 })
  const costs: Costs = {
    ...Object.fromEntries([...alone, ...shared].map((file) => [file, cost(2)])),
    ...Object.fromEntries(walks.map((file) => [file, cost(18)])),
    [long]: cost(31),
  }
  const groups = grouped(runsOf([...alone, long, ...walks, ...shared]), root, costs)
  assert.deepEqual(
    groups.map((group) => group.map(({ file }) => file)),
    [walks, [long], shared, ...alone.map((file) => [file])],
  )
})

test('the shards of a run have each file once, and work of about the same length', () => {
  const runs = runsOf(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  const costs = Object.fromEntries(
    runs.map(({ name }, i) => [name, { cpu: [1, 9, 2, 8, 3, 7, 4][i] ?? 0, seconds: 1, tests: 1 }]),
  )
  const shards = [1, 2, 3].map((number) => runsOfShard(runs, { number, of: 3 }, costs))
  assert.deepEqual(
    shards.map((shard) => shard.map(({ name }) => name)),
    [
      ['a', 'b', 'c'],
      ['d', 'e'],
      ['f', 'g'],
    ],
  )
  assert.deepEqual(shardFrom('2/4'), { number: 2, of: 4 })
  for (const wrong of ['', '2', '0/4', '5/4', '1/0', '1/4/2', 'a/b'])
    assert.throws(() => shardFrom(wrong), /such as 2\/4/)
})

test('the full form runs every file, and the quick SQL tests on the oldest server', () => {
  const { runs, leftOut } = wholeForm(root, true, true)
  const names = runs.map(({ name }) => name)
  assert.deepEqual(leftOut, [])
  assert.deepEqual(
    files.filter((file) => !names.includes(file)),
    [],
  )
  assert.ok(names.includes('src/domains/sms/sms.test.ts on PostgreSQL 15'))
  assert.equal(wholeForm(root, true, false).runs.length, files.length)
  const oldest = runsOnOldest(root).map(({ file }) => file)
  assert.deepEqual(
    newestOnly.filter((file) => oldest.includes(file)),
    [],
  )
  assert.deepEqual(
    oldestOnRequest.filter((file) => !oldest.includes(file) || names.includes(`${file} on PostgreSQL 15`)),
    [],
  )
})

test('the fast form runs a file, or names it with the reason', () => {
  const { runs, leftOut } = wholeForm(root, false, true)
  const named = leftOut.flatMap(({ names }) => names)
  assert.deepEqual([...runs.map(({ file }) => file), ...named.filter((name) => name.endsWith('.ts'))].sort(), files)
  for (const { files: patterns } of [...fullOnly, ...whenNear, ...partly])
    for (const pattern of patterns) assert.ok(globSync(pattern, { cwd: root }).length > 0, `no file matches ${pattern}`)
  assert.equal(whyLeftOut('test/contract.test.ts'), null)
})

test('what the fast form leaves out for its cost runs near a change, and what only the full form has does not', () => {
  const chosen = (file: string) => {
    const selected = changedFiles(root, [file], { isFull: false, costs: {} })
    return selected === 'everything' ? [] : selected.runs.map((run) => run.file)
  }
  const near = chosen('src/domains/backup/verify/damage.ts')
  assert.ok(near.includes('src/domains/backup/verify/damaged-backup.test.ts'))
  assert.notEqual(whyLeftOut('src/domains/backup/verify/damaged-backup.test.ts'), null)
  assert.equal(whyFullOnly('src/domains/backup/verify/damaged-backup.test.ts'), null)
  assert.ok(!chosen('test/needs.ts').some((file) => whyFullOnly(file) !== null))
})

const near = (...changed: string[]) => {
  const found = affectedTests(root, files, changed)
  return found === 'everything' ? found : found.map(({ file }) => file)
}

test('a change of a store file is near to the tests of its folder, then of its domain, then of its endpoints', () => {
  const found = near('src/domains/webhooks/delivery/attempt-store.ts')
  assert.ok(found !== 'everything')
  const at = (file: string) => found.indexOf(file)
  const order = ['src/domains/webhooks/delivery/delivery-engine.test.ts', 'src/domains/webhooks/webhooks.test.ts']
  const places = [...order, 'test/isolation.test.ts', 'src/domains/requests/requests.test.ts'].map(at)
  assert.ok(!places.includes(-1), places.join())
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.equal(at('packages/sip/src/parse.test.ts'), -1)
})

test('a change is near to the tests that import or name the changed file, whatever its folder', () => {
  assert.deepEqual(near('test/fuzz/oracle.ts'), ['test/fuzz.test.ts'])
  assert.ok(near('docs/security.md').includes('test/asvs.test.ts'))
  assert.ok(near('packages/phone/src/segments.ts').includes('packages/phone/src/segments.test.ts'))
  assert.ok(near('console/inbox/thread.tsx').includes('test/console/inbox.test.ts'))
  assert.equal(near('package-lock.json'), 'everything')
  assert.deepEqual(near('LICENSE'), [])
})

test('the tests of a change stay within a budget, and those of its own folder run anyway', () => {
  const store = 'src/domains/webhooks/delivery/attempt-store.ts'
  const dear: Costs = Object.fromEntries(files.map((file) => [file, { cpu: 30, seconds: 30, tests: 1 }]))
  const chosen = changedFiles(root, [store], { isFull: false, costs: dear })
  assert.ok(chosen !== 'everything')
  const folder = files.filter((file) => file.startsWith('src/domains/webhooks/delivery/'))
  assert.deepEqual(
    folder.filter((file) => !chosen.runs.some((run) => run.file === file)),
    [],
  )
  assert.ok(chosen.runs.length < folder.length + 3 && chosen.beyond > 0)
  const walk = changedFiles(root, [store], { isFull: true, costs: {} })
  assert.ok(walk !== 'everything')
  const isolation = walk.runs.find(({ file }) => file === 'test/isolation.test.ts')
  assert.match(String(isolation?.env.TRUNKLINE_TEST_CONTRACTS), /^src\/domains\/webhooks\//)
})

test('every file and folder that the tables of nearness name exists', () => {
  assert.deepEqual(
    [...restrictedWalks, ...wholeWalks].filter((file) => !existsSync(join(root, file))),
    [],
  )
  for (const file of restrictedWalks) assert.match(readFileSync(join(root, file), 'utf8'), /walkedContracts/)
  for (const { folder, tests } of subjects) {
    assert.ok(existsSync(join(root, folder)), folder)
    assert.ok(globSync(tests, { cwd: root }).length > 0, tests)
  }
})
