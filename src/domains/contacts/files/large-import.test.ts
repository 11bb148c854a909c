import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { apiKey, startPlatform } from '../../../../test/platform.ts'

// The heap holds neither the file of the long form nor its content: 200,000 contacts, each with an address of 300
// characters.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const contacts = long ? 200_000 : 2000
/** MB. The program needs about 45 at rest. */
const heap = 96

function* file() {
  yield 'first_name,last_name,phone,email,address\n'
  const address = 'Square '.repeat(43)
  for (let n = 0; n < contacts; n++)
    yield `Ada,Lovelace ${n},+4477${String(n).padStart(8, '0')},ada.${n}@example.com,${address}${n}\n`
}

const peak = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(`${contacts} contacts are imported and exported by a process with ${heap} MB of heap`, async (t) => {
  const platform = await startPlatform(undefined, {
    NODE_OPTIONS: `--max-old-space-size=${heap}`,
    TRUNKLINE_SANDBOX: 'false',
  })
  t.after(() => platform.end())
  const resting = process.platform === 'linux' ? peak(platform.pid) : 0
  const key = { 'x-user-api-key': apiKey }
  const began = performance.now()
  const sent = await fetch(`${platform.url}/open/contacts/import`, {
    method: 'POST',
    headers: { ...key, 'content-type': 'text/csv' },
    body: Readable.toWeb(Readable.from(file())) as ReadableStream, // the implementation that Node's fetch accepts
    duplex: 'half',
  })
  const answer: { created: number } = JSON.parse(await sent.text())
  assert.equal(sent.status, 201, JSON.stringify(answer))
  const imported = performance.now()
  assert.equal(answer.created, contacts)
  for (const [format, sign] of [
    ['csv', '\r\n'],
    ['vcf', 'END:VCARD'],
  ] as const) {
    const { body } = await fetch(`${platform.url}/open/contacts/export?format=${format}`, { headers: key })
    let [count, rest] = [0, '']
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const pieces = (rest + part).split(sign)
      rest = pieces.pop() ?? ''
      count += pieces.length
    }
    assert.equal(count, contacts + (format === 'csv' ? 1 : 0))
  }
  const grown = process.platform === 'linux' ? Math.round(peak(platform.pid) - resting) : 0
  const seconds = (imported - began) / 1000
  t.diagnostic(
    `${Math.round(contacts / seconds)} imported and ${Math.round((2000 * contacts) / (performance.now() - imported))} exported ` +
      `a second; memory grew by ${grown} MB`,
  )
  assert.ok(grown < 200, `memory grew by ${grown} MB`)
})
