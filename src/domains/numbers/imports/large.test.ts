import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { test } from 'node:test'
import { operatorKey, startPlatform, until } from '../../../../test/platform.ts'

// The heap could not hold the lines of the file. The long form has three million of them, 170 MB.

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const lines = long ? 3_000_000 : 40_000
/** MB: the program needs about 45 at rest. */
const heap = 96

type Reply = { status: number; body: { imported: number; lines: number; import_uuid: string } }

/** Sends lines as fast as the server accepts them. */
const upload = (base: string): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const headers = { 'x-operator-key': operatorKey, 'content-type': 'text/csv' }
    const sending = request(`${base}/operator/inventory/import`, { method: 'POST', headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (data: string) => {
        text += data
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }))
    })
    sending.on('error', reject)
    let next = 0
    const write = () => {
      while (next < lines) {
        // Shuffled, like a file that grew over years.
        const digits = String((next * 7_919) % 10_000_000).padStart(7, '0')
        next++
        if (!sending.write(`+4930${digits},DE,local,Berlin,voice|sms_in|sms_out,0,1.25,0.01\n`)) {
          sending.once('drain', write)
          return
        }
      }
      sending.end()
    }
    sending.write('number,country,type,city,features,setup_price,monthly_price,price_per_minute\n')
    write()
  })

const peak = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

test(`${lines} lines are imported by a process with ${heap} MB of heap, which keeps answering`, async (t) => {
  const platform = await startPlatform(undefined, {
    NODE_OPTIONS: `--max-old-space-size=${heap}`,
    TRUNKLINE_SANDBOX: 'false',
  })
  t.after(() => platform.end())
  const resting = process.platform === 'linux' ? peak(platform.pid) : 0
  const began = performance.now()
  const seen = new Set<string>()
  let slowest = 0
  let reply: Reply | null = null
  void upload(platform.url).then((answer) => {
    reply = answer
  })
  const { status, body } = await until<Reply>(async () => {
    const startedAt = performance.now()
    const [newest] = (await platform.call('GET', '/operator/inventory/imports')).body.imports
    slowest = Math.max(slowest, performance.now() - startedAt)
    if (newest) seen.add(newest.state)
    return reply
  }, 3600)
  const seconds = (performance.now() - began) / 1000
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual([body.lines, body.imported], [lines, lines])
  assert.ok(seen.has('reading'))
  const listed = await platform.call('GET', '/open/numbers/groups?country=DE&city_name_or_prefix=30')
  const [own] = listed.body.data.groups.filter(({ id }: { id: string }) => id.startsWith('own-'))
  assert.deepEqual([own.available_count, own.prefix], [lines, '30'])
  const grown = process.platform === 'linux' ? Math.round(peak(platform.pid) - resting) : 0
  t.diagnostic(
    `${lines} lines in ${seconds.toFixed(1)} s, ${Math.round(lines / seconds)} a second; ` +
      `memory grew by ${grown} MB; the slowest other answer took ${Math.round(slowest)} ms`,
  )
  assert.ok(grown < 200, `memory grew by ${grown} MB`)
})
