import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

// The table of OWASP ASVS 4.0.3 in docs/security.md: complete, with reasons, and with evidence that exists.

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/security.md'), 'utf8')

/**
 * Numbers of the requirements of level 2 in each section, including those that ASVS leaves to the operating system or
 * calls optional.
 */
const level2 = `
  1.1: 1-7, 1.2: 1-4, 1.4: 1 4-5, 1.5: 1-4, 1.6: 1-4, 1.7: 1-2, 1.8: 1-2, 1.9: 1-2, 1.10: 1, 1.11: 1-2,
  1.12: 2, 1.14: 1-6, 2.1: 1-12, 2.2: 1-3, 2.3: 1-3, 2.4: 1-5, 2.5: 1-7, 2.6: 1-3, 2.7: 1-6, 2.8: 1-7,
  2.9: 1-3, 2.10: 1-4, 3.1: 1, 3.2: 1-4, 3.3: 1-4, 3.4: 1-5, 3.5: 1-3, 3.7: 1, 4.1: 1-3 5, 4.2: 1-2, 4.3: 1-3,
  5.1: 1-5, 5.2: 1-8, 5.3: 1-10, 5.4: 1-3, 5.5: 1-4, 6.1: 1-3, 6.2: 1-6, 6.3: 1-2, 6.4: 1-2, 7.1: 1-4,
  7.2: 1-2, 7.3: 1 3-4, 7.4: 1-3, 8.1: 1-4, 8.2: 1-3, 8.3: 1-8, 9.1: 1-3, 9.2: 1-4, 10.2: 1-2, 10.3: 1-3,
  11.1: 1-8, 12.1: 1-3, 12.2: 1, 12.3: 1-6, 12.4: 1-2, 12.5: 1-2, 12.6: 1, 13.1: 1 3-5, 13.2: 1-3 5-6,
  13.3: 1-2, 13.4: 1-2, 14.1: 1-4, 14.2: 1-6, 14.3: 2-3, 14.4: 1-7, 14.5: 1-4`
  .trim()
  .split(/,\s*/)
  .map((text) => text.split(': '))

const numbersOf = (ranges: string): number[] =>
  ranges.split(' ').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })

const verdicts = ['met', 'partly', 'not', 'does not apply'] as const

const rows = [...page.matchAll(/^\| (\d+\.\d+\.\d+) \| (.+) \| (.+) \| (.+) \|$/gm)].map(
  ([, id = '', subject = '', verdict = '', shown = '']) => ({ id, subject, verdict, shown }),
)

test('each requirement of level 2 has one row, in order', () => {
  const wanted = level2.flatMap(([section, ranges = '']) => numbersOf(ranges).map((number) => `${section}.${number}`))
  assert.deepEqual(
    rows.map(({ id }) => id),
    wanted,
  )
})

test('each row has a verdict, and each requirement that is met a file that exists', () => {
  for (const { id, verdict, shown } of rows) {
    assert.ok(
      verdicts.some((known) => known === verdict),
      `${id}: ${verdict}`,
    )
    if (verdict !== 'met') continue
    const files = [...shown.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path)
    assert.ok(files.length > 0 || shown.includes('this page'), `${id} names no file`)
    for (const path of files) assert.ok(existsSync(join(root, path)), `${id}: ${path} does not exist`)
  }
})

test('the verdict of a chapter follows from its rows', () => {
  const chapters = [...page.matchAll(/^\| V(\d+) [^|]+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.+) \|$/gm)]
  assert.equal(chapters.length, 14)
  for (const [, chapter, ...stated] of chapters) {
    const own = rows.filter(({ id }) => id.startsWith(`${chapter}.`))
    const counts = verdicts.map((verdict) => own.filter((row) => row.verdict === verdict).length)
    const isMet = counts[1] === 0 && counts[2] === 0
    assert.deepEqual(stated, [...counts.map(String), isMet ? 'met' : 'partly'], `V${chapter}`)
  }
})
