import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { needs } from './needs.ts'
import { apiKey, type Platform, startPlatform } from './platform.ts'

// The pages with commands to paste, run as they stand.

let platform: Platform
after(() => platform?.end('SIGKILL'))

/** The commands of a page, for this platform. Each block's end is marked, so that its output is found. */
const scriptOf = (page: string, url: string): string => {
  const text = readFileSync(join(import.meta.dirname, '..', page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code)
  const script = blocks.map((code) => `${code}\necho ----\n`).join('')
  return script.replaceAll('localhost:8080', url).replace(/export KEY=\S+/, `export KEY='${apiKey}'`)
}

type Json = { [key: string]: unknown }

test(
  'docs/numbers.md: find Los Angeles, reserve, expire, reserve again, buy, list and delete, by curl',
  needs('curl'),
  async () => {
    platform = await startPlatform()
    const script = scriptOf('docs/numbers.md', platform.url)
    const run = spawnSync('bash', ['-u'], { input: script, encoding: 'utf8', timeout: 60_000 })
    assert.equal(run.stderr, '')
    const blocks = run.stdout.split('----\n').map((block) => block.split('\n').filter((line) => line !== ''))
    const answers = blocks.map((lines) =>
      lines.filter((line) => line.startsWith('{')).map((line): Json => JSON.parse(line)),
    )
    for (const answer of answers.flat()) assert.equal(answer.success, true, JSON.stringify(answer))
    const data = (block: number, line: number) => answers[block]?.[line]?.data as Json

    const [, find, pick, held, expired, again, bought, released] = answers
    assert.deepEqual([find?.length, pick?.length], [4, 2])
    assert.equal(blocks[1]?.at(-1), 'group US-local-213-los-angeles')
    assert.ok((data(2, 0).numbers as Json[]).every(({ number }) => String(number).startsWith('+1213')))
    assert.equal((data(3, 1).reservations as Json[]).length, 1)
    assert.deepEqual([held?.length, expired?.length, data(4, 1).reservations], [2, 2, []])
    const number = (data(3, 0).reservation_details as Json).number
    assert.deepEqual([again?.length, (data(5, 0).reservation_details as Json).number], [1, number])
    const [purchase = {}, list = {}, changed = {}, info = {}] = bought ?? []
    assert.deepEqual([purchase.purchased, list.total], [[number], 1])
    assert.partialDeepStrictEqual(changed, { number: { friendly_name: 'Los Angeles desk' } })
    const price = 100 - Number((info.balance as Json).amount)
    assert.ok(price > 0 && price < 20, `it cost ${price}`)
    assert.deepEqual([released?.[0], released?.[1]?.total], [{ success: true }, 0])
  },
)
