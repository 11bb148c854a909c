import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { needs } from './needs.ts'
import { apiKey, buyNumber, type Platform, startPlatform, until } from './platform.ts'
import { temporaryFolder } from './servers.ts'

// Executes the commands of the documentation pages unchanged.

let platform: Platform
before(async () => {
  platform = await startPlatform()
})
after(() => platform?.end('SIGKILL'))

/** The commands of a page, for this platform. The end of each block is marked, so that its output can be found. */
const scriptOf = (page: string, url: string): string => {
  const text = readFileSync(join(import.meta.dirname, '..', page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code)
  const script = blocks.map((code) => `${code}\necho ----\n`).join('')
  return script.replaceAll('localhost:8080', url).replace(/export KEY=\S+/, `export KEY='${apiKey}'`)
}

type Json = { [key: string]: unknown }

/** Runs a page in a temporary folder. @returns the lines that each of its blocks printed */
const walked = (script: string): string[][] => {
  const run = spawnSync('bash', ['-u'], { cwd: temporaryFolder(), input: script, encoding: 'utf8', timeout: 60_000 })
  assert.equal(run.stderr, '')
  return run.stdout.split('----\n').map((block) => block.split('\n').filter((line) => line !== ''))
}

test(
  'docs/numbers.md: find Los Angeles, reserve, expire, reserve again, buy, list and delete, by curl',
  needs('curl'),
  async () => {
    const script = scriptOf('docs/numbers.md', platform.url)
    const blocks = walked(script)
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

test(
  'docs/sms.md: a text with its receipt, one that is scheduled and canceled, a sending, segments, an answer, STOP and START, opt-outs, by curl',
  needs('curl'),
  async () => {
    const blocks = walked(scriptOf('docs/sms.md', platform.url))
    const [, sent, canceled, many, previews, answered, stopped, listed, imported] = blocks.map((lines) =>
      lines.filter((line) => line.startsWith('{')).map((line): Json => JSON.parse(line)),
    )
    assert.partialDeepStrictEqual(sent, [{ message: { status: 'delivered', text: 'Your table is ready' } }, {}])
    assert.partialDeepStrictEqual(canceled, [{ message: { status: 'scheduled' } }, { message: { status: 'canceled' } }])
    assert.partialDeepStrictEqual(many, [{ sending: { text: 'We open at nine', accepted: 2, refused: 1 } }])
    assert.partialDeepStrictEqual(previews, [
      { encoding: 'gsm7', fragments: 1 },
      { encoding: 'ucs2', fragments: 1, forced_by: '🎉' },
    ])
    const thread = answered?.at(-1)?.messages as Json[]
    assert.deepEqual(
      thread.map(({ text }) => text),
      ['Your table is ready', 'See you tomorrow', 'On my way'],
    )
    const answers = stopped?.filter((one) => 'message_uuid' in one || 'error_code' in one)
    assert.partialDeepStrictEqual(answers, [{ error_code: 'opted_out' }, {}])
    assert.ok(answers?.[1]?.message_uuid, 'START lets texts pass again')
    assert.partialDeepStrictEqual(listed, [
      { opt_outs: [{ contact_number: '+447700900555', reason: 'manual' }] },
      { count: 1 },
      { error_code: 'opted_out' },
      { success: true },
    ])
    assert.partialDeepStrictEqual(imported, [{ created: 2, skipped: 0, bad_lines: 1, lines: [{ line: 4 }] }])
  },
)

test(
  'docs/keys.md: a key with limits, refused beyond its scope and after its revocation, by curl',
  needs('curl'),
  async () => {
    const blocks = walked(scriptOf('docs/keys.md', platform.url))
    const answers = blocks.flat().map((line): Json => JSON.parse(line))
    const [info, again, refused, list, revoked, unauthorized] = answers
    assert.deepEqual([info?.success, again?.success], [true, true])
    assert.partialDeepStrictEqual(refused, { error_code: 'scope_missing' })
    const keys = list?.keys as Json[]
    assert.ok(keys.some(({ label }) => label === 'reports'))
    assert.partialDeepStrictEqual([revoked, unauthorized], [{ success: true }, { error_code: 'unauthorized' }])
  },
)

/** A port on which nothing listens at this moment. */
const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server
  server.close()
  return port
}

test(
  'docs/messaging.md: a message with acknowledgements 1 to 3, its answer at a webhook, the phone, checks and a group, by curl',
  needs('curl'),
  async () => {
    const script = scriptOf('docs/messaging.md', platform.url)
      .replaceAll('3000', String(await freePort()))
      .replace('node ', `${process.execPath} `)
    const blocks = walked(script)
    const answers = blocks.map((lines) =>
      lines.filter((line) => line.startsWith('{')).map((line): Json => JSON.parse(line)),
    )
    const [
      ,
      [numbers, status] = [],
      [hook] = [],
      [sent, handset] = [],
      back = [],
      phone = [],
      checks = [],
      group = [],
    ] = answers
    assert.partialDeepStrictEqual(
      [numbers, status, hook],
      [{ count: 1 }, { connection_status: 'C' }, { success: true }],
    )
    assert.partialDeepStrictEqual(sent, { message: { wa_msg_ack: 2, received: true, read: false } })
    assert.partialDeepStrictEqual(handset, { msgapp: [{ text: 'Hello from Trunkline 👋' }] })
    const [, , read, conversation, opened, received] = back
    assert.partialDeepStrictEqual(read, { message: { wa_msg_ack: 3, read: true } })
    assert.partialDeepStrictEqual(conversation, { count: 2 })
    assert.partialDeepStrictEqual(opened, { unread_count: 0, batched: true })
    assert.partialDeepStrictEqual(received, { event: 'msgapp.message.received', message: { text: 'Hello back' } })
    const [, , , , thread, history] = phone
    assert.partialDeepStrictEqual(thread, {
      messages: [{ sent_by: 'agent', message: { text: 'From the phone' } }],
    })
    const calls = history?.cdrs as Json[]
    assert.deepEqual(calls.map(({ direction }) => direction).sort(), ['I', 'O'])
    assert.partialDeepStrictEqual(phone.at(-1), { event: 'msgapp.call.made', remote_phone_number: '+447400123456' })
    assert.deepEqual(
      checks.map(({ on_msgapp }) => on_msgapp),
      [true, false, true],
    )
    assert.partialDeepStrictEqual(group[0], {
      accepted_numbers: ['+447400123456'],
      unaccepted_numbers: ['+447400120006'],
    })
    assert.partialDeepStrictEqual(group.at(-1), { messages: [{ message: { text: 'Welcome' } }] })
  },
)

test(
  'docs/voice.md: a number, a token, a price, an unanswered call and a verified landline, by curl',
  needs('curl'),
  async () => {
    const blocks = walked(scriptOf('docs/voice.md', platform.url))
    const answers = blocks.flat().map((line): Json => JSON.parse(line))
    const [ring, token, price, callers, called, history, handset, keys, proved] = answers
    assert.match(String(token?.token), /^[\w-]+\.[\w-]+\.[\w-]+$/)
    const user = token?.user_uuid
    const { data } = (await platform.call('GET', '/open/users')).body
    assert.equal(user, data.users[0].uuid, 'the first user of the account')
    assert.partialDeepStrictEqual(ring, { number: { inbound_user_uuid: user } })
    assert.partialDeepStrictEqual(price, { currency: 'USD', iso_country_code: 'GB' })
    const shown = callers?.caller_ids as Json[]
    assert.ok(shown.some(({ type, verified }) => type === 'VN' && verified))
    assert.match(String(called?.call_id), /./)
    assert.partialDeepStrictEqual(history, { cdrs: [{ direction: 'I', status: 'MISSED', from: '+447700900123' }] })
    assert.partialDeepStrictEqual(handset, {
      calls: [{ call_id: called?.call_id, direction: 'outbound', status: 480 }],
    })
    assert.partialDeepStrictEqual(keys, { success: true, pressed: true })
    const listed = proved?.caller_ids as Json[]
    const landline = listed.find(({ phone_number }) => phone_number === '+442079460009')
    assert.partialDeepStrictEqual(landline, { type: 'CI', verified: true })
  },
)

/** Frequencies of tones, the same one in a row once. */
const melodyOf = (tones: Json[]): unknown[] =>
  tones.map(({ hertz }) => hertz).filter((hertz, n, all) => hertz !== all[n - 1])

test(
  'docs/voice-programs.md: a menu in TwiML and JSON, the agent of the examples on a stream, and a call by API, by curl',
  needs('curl'),
  async (context) => {
    // docs/numbers.md moves the clock of the other one, and receivers refuse signatures of another time.
    const own = await startPlatform(undefined, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' })
    context.after(() => own.end('SIGKILL'))
    const [menu, agent] = [await freePort(), await freePort()]
    const script = scriptOf('docs/voice-programs.md', own.url)
      .replaceAll('3000', String(menu))
      .replaceAll('3001', String(agent))
      .replace('node menu.mjs', `${process.execPath} menu.mjs`)
      .replace('node examples/', `PORT=${agent} ${process.execPath} ${join(import.meta.dirname, '../examples')}/`)
    const blocks = walked(script)
    const answers = blocks.map((lines) =>
      lines.filter((line) => line.startsWith('{')).map((line): Json => JSON.parse(line)),
    )
    const [, , , twiml, json, story, , , placed, commands] = blocks
    const digits = (key: string) => JSON.stringify({ reason: 'digits', digits: key, finished_on_key: null })
    assert.deepEqual(twiml?.slice(2), ['/twiml call.started undefined', `/twiml verb.completed ${digits('2')}`])
    assert.partialDeepStrictEqual(answers[4], [{ number: { voice: { kind: 'url' } } }, { success: true }])
    assert.deepEqual(json?.slice(2), ['/json call.started undefined', `/json verb.completed ${digits('1')}`])
    const verbs = ((answers[5]?.[0]?.timeline ?? []) as Json[]).flatMap(({ what, detail }) =>
      what === 'program_verb' ? [(detail as Json).verb] : [],
    )
    assert.deepEqual(verbs, ['gather', 'say', 'hangup'], String(story))
    const [call] = (answers[7]?.at(-1)?.calls ?? []) as Json[]
    assert.deepEqual(melodyOf((call?.tones ?? []) as Json[]), [600, 620, 1_200, 620, 400])
    assert.deepEqual(placed, [])
    const [tagged, recorded, redirected] = (answers[9] ?? []).map(({ outcome }) => outcome as Json)
    assert.deepEqual([tagged, redirected], Array(2).fill({ ok: true }))
    assert.match(String(recorded?.recording_uuid), /^REC[0-9a-f-]{36}$/)
    assert.match(commands?.at(-1) ?? '', /^POST \/status .*"call\.completed".*"tags":\{.*"agent":"left"/)
  },
)

/** Things of this installation that the pages of single requests name, by the variable of the page. */
const thingsOf = async ({ call, url }: Platform): Promise<Record<string, string>> => {
  const one = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body)
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { number, channel } = await buyNumber({ call })
  const contact = async (n: number) => {
    const details = [{ type: 'PH', value: `+44740012340${n}` }]
    return (await one('POST', '/open/contacts', { first_name: `Ada ${n}`, contact_details: details })).contact.uuid
  }
  const from_number = number
  const { message_uuid } = await one('POST', '/open/sms/send', {
    from_number,
    to_number: '+447700900124',
    text: 'Hello',
  })
  for (const text of ['One', 'Two']) await one('POST', '/sandbox/handsets/+447700900124/sms', { to: number, text })
  const inbound = `/open/sms/messages?direction=inbound&channel_uuid=${channel}`
  await until(async () => (await one('GET', inbound)).messages.length === 2)
  const { next_cursor } = await one('GET', '/open/sms/messages?direction=inbound&results_per_page=1')
  const conversation = await until(async () => {
    const { conversations } = await one('GET', '/open/conversations')
    return conversations.find((each: Json) => JSON.stringify(each).includes('+447700900124'))
  })
  const { items } = await one('GET', `/open/conversations/${conversation.uuid}/items`)
  const hook = { hook_url: 'http://127.0.0.1:1024/walk' }
  const webhook = (await one('POST', '/open/webhooks/subscribe/contact.created', hook)).data.uuid
  for (const enabled of [false, true]) await one('PUT', `/open/webhooks/${webhook}`, { enabled })
  const { events } = await one('GET', '/open/events')
  return {
    ...{ URL: url, KEY: `'${apiKey}'`, KEPT: await contact(1), DUPLICATE: await contact(2), SMO: message_uuid },
    ...{ NEXT: next_cursor, EVT: events[0].uuid, CONVERSATION: conversation.uuid, CHANNEL: channel },
    ...{ SEEN: items[0].uuid, WEBHOOK: webhook, '+442079460018': number },
  }
}

test(
  'docs/{idempotency,lists,logs,contacts,inbox,webhooks}.md: every request of the pages succeeds, by curl',
  needs('curl'),
  async () => {
    const things = await thingsOf(platform)
    for (const [page, requests] of [
      ...([
        ['idempotency', 1],
        ['lists', 3],
        ['logs', 3],
        ['contacts', 1],
      ] as const),
      ...([
        ['webhooks', 5],
        ['inbox', 4],
      ] as const),
    ]) {
      const script = scriptOf(`docs/${page}.md`, platform.url)
        .replace(
          /^([A-Z]+)=\S*…\S*|^(URL)=\S+/gm,
          (_, name: string, url: string) => `${name ?? url}=${things[name ?? url]}`,
        )
        .replaceAll('+442079460018', things['+442079460018'] ?? '')
        .replaceAll('https://example.com/hook', 'http://127.0.0.1:1024/guide')
      const run = walked(`curl() { command curl -s -w '\\n%{http_code}\\n' "$@"; }\n${script}`).flat()
      const statuses = run.filter((line) => /^\d{3}$/.test(line))
      assert.equal(statuses.length, requests, run.join('\n'))
      assert.ok(
        statuses.every((status) => status.startsWith('2')),
        `${page}: ${run.join('\n')}`,
      )
    }
  },
)
