import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { defineBench, helpOf, parseSettings, UsageError } from '../bench/bench.ts'
import { benches } from '../bench/list.ts'
import { figuresFile, storedResults, tableOf, withFigures } from '../scripts/figures.ts'

const root = join(import.meta.dirname, '..')

const bench = defineBench({
  name: 'example',
  about: 'An example.',
  flags: { rate: { about: 'messages a second', default: 100 }, only: { about: 'part of a name', default: '' } },
  figures: { sent: { label: 'sent', unit: '/s', isHeadline: true }, cost: { label: 'CPU', unit: 'µs' } },
  run: async () => {},
})

test('the table of figures in the documentation matches bench/results', () => {
  const page = readFileSync(figuresFile, 'utf8')
  assert.match(page, /<!-- figures -->/)
  assert.ok(page === withFigures(page, storedResults()), 'run: node_modules/.bin/node scripts/figures.ts')
})

test('the table has the headline figures of a result, with its cores and commit', () => {
  const figures = { 'accepted.64': { median: 10_432.1, least: 9_000, most: 11_000 } }
  const stored = { name: 'sms', date: '2026-11-23', commit: '0123456789ab', cores: 2, rounds: 5, rows: 10, figures }
  const shown = tableOf([stored])
  assert.match(shown, /\| sms \| accepted, 64 connections \| 10,400 \/s \| 9,000 to 11,000 \|/)
  assert.match(shown, /^- sms: commit `0123456`, 2026-11-23, 2 cores, 5 rounds, 10 messages in the database$/m)
})

test('the table shows the goal of a figure that has one', () => {
  const figures = { request: { median: 19.75, least: 18.56, most: 34.2 } }
  const stored = {
    name: 'programs',
    date: '2026-11-29',
    commit: '0123456789ab',
    cores: 2,
    rounds: 5,
    rows: null,
    figures,
  }
  assert.match(tableOf([stored]), /\| 19\.8 ms \| 18\.6 to 34\.2 \| at most 30 \|/)
})

test('a stored result names neither the machine nor a path of it', () => {
  for (const file of globSync('bench/results/*.json', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    assert.ok(!text.includes(hostname()) && !/\/(?:home|root|tmp|work|Users)\//.test(text), file)
  }
})

test('a bench runs five rounds on a million messages by default', () => {
  const { rounds, rows, seconds, store, flags } = parseSettings(bench, [])
  assert.deepEqual({ rounds, rows, seconds, store }, { rounds: 5, rows: 1_000_000, seconds: 4, store: false })
  assert.deepEqual(flags, { rate: 100, only: '' })
})

test('options of a bench are read in both forms', () => {
  const { rounds, rows, store, flags } = parseSettings(bench, ['--rounds=7', '--rows', '0', '--store', '--rate', '5'])
  assert.deepEqual({ rounds, rows, store, rate: flags.rate }, { rounds: 7, rows: 0, store: true, rate: 5 })
})

for (const [fault, args, reason] of [
  ['an unknown option', ['--round', '5'], /no option --round\. It has --rounds, --seconds, --rows, --rate, --only,/],
  ['a word instead of a number', ['--rounds', 'many'], /--rounds needs a whole number of at least 1, not many\./],
  ['a missing number', ['--rate'], /--rate needs a whole number of at least 1, not nothing\./],
  ['a fraction', ['--seconds', '0.5'], /--seconds needs a whole number of at least 1, not 0\.5\./],
  ['no round', ['--rounds', '0'], /--rounds needs a whole number of at least 1, not 0\./],
  ['a missing word', ['--only'], /--only needs a value: part of a name\./],
  ['an argument without an option', ['5'], /no option 5\./],
] as const)
  test(`${fault} is refused with the reason`, () => {
    assert.throws(
      () => parseSettings(bench, args),
      (error: unknown) => error instanceof UsageError && reason.test(error.message),
    )
  })

test('--rows is refused by a bench without a database of its own', () => {
  assert.throws(() => parseSettings(defineBench({ ...bench, rows: null }), ['--rows', '5']), /no option --rows/)
})

test('every bench is listed and explains its options and figures', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['bench/run.ts', ...args], { cwd: root, encoding: 'utf8' })
  const { stdout, status } = run('--help')
  assert.equal(status, 0)
  for (const { name, about } of benches) assert.ok(stdout.includes(`  ${name} `) && stdout.includes(about), name)
  for (const one of benches)
    for (const { label } of Object.values(one.figures)) assert.ok(helpOf(one).includes(label), label)
  const wrong = run('smss')
  assert.equal(wrong.status, 2)
  assert.match(wrong.stderr, /There is no bench smss; did you mean sms\?/)
})
