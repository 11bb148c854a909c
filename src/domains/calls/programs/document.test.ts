import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAnswer, readVerbs } from './document.ts'
import { ProgramError } from './program.ts'

const url = 'https://example.com/calls/start'

const compileTwiml = (_: string, text: string) => {
  if (!text.includes('<Hangup/>')) throw new ProgramError('malformed', 'no verb')
  return { verbs: [{ verb: 'hangup' as const }], notes: ['an attribute was ignored'], baseUrl: url }
}

const read = (body: string, type = 'application/json', status = 200) =>
  readAnswer({ status, type, body }, url, compileTwiml)

/** Asserts that a document is refused with this code, and that the error names this. */
const refuses = (body: unknown, code: string, named: RegExp) =>
  assert.rejects(read(JSON.stringify(body)), (error) => {
    assert.ok(error instanceof ProgramError)
    assert.deepEqual([error.code, error.url, error.status], [code, url, 200])
    assert.match(error.message, named)
    return true
  })

test('a document is a list of verbs, or an object with verbs', async () => {
  const verbs = [{ verb: 'pause', seconds: 2 }, { verb: 'hangup' }]
  assert.deepEqual((await read(JSON.stringify(verbs)))?.verbs, verbs)
  assert.deepEqual((await read(JSON.stringify({ verbs })))?.verbs, verbs)
  assert.deepEqual((await read('[]'))?.verbs, [])
})

test('an empty answer and 204 leave the verbs as they are', async () => {
  assert.equal(await read('', 'text/plain'), null)
  assert.equal(await read(' \n', 'application/json'), null)
  assert.equal(await read('ignored', 'text/plain', 204), null)
})

test('relative addresses are resolved against the document, and absolute ones are left as they are', async () => {
  const document = await read(
    JSON.stringify([
      {
        verb: 'gather',
        action: '../menu?step=2',
        prompts: [{ verb: 'play', urls: ['one.wav', 'https://cdn.example.net'] }],
      },
    ]),
  )
  assert.deepEqual(document?.verbs, [
    {
      verb: 'gather',
      action: 'https://example.com/menu?step=2',
      prompts: [{ verb: 'play', urls: ['https://example.com/calls/one.wav', 'https://cdn.example.net'] }],
    },
  ])
  assert.throws(() => readVerbs([{ verb: 'redirect', url: '/next' }], null), { code: 'attribute' })
})

test('an unknown attribute is ignored and noted, also in a prompt', async () => {
  const document = await read(
    JSON.stringify([{ verb: 'gather', colour: 1, prompts: [{ verb: 'pause', seconds: 1, loud: true }] }]),
  )
  assert.deepEqual(document?.verbs, [{ verb: 'gather', prompts: [{ verb: 'pause', seconds: 1 }] }])
  assert.equal(document?.notes.length, 2)
  assert.match(document?.notes.join('; ') ?? '', /verb 1 \(gather\): the attribute colour .*prompt 1 \(pause\).*loud/)
})

test('a document of attributes that are not known has at most 50 notes', async () => {
  const attributes = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`a${n}`, n]))
  const document = await read(JSON.stringify([{ verb: 'answer', ...attributes }]))
  assert.equal(document?.notes.length, 50)
})

test('a dial has verbs for the callee, of those that make sense before it is connected', async () => {
  const number = { number: '+447700900123', send_digits: '1', status_url: '/status', colour: 1 }
  const confirm = [{ verb: 'gather', action: 'key', prompts: [{ verb: 'say', text: 'Press 1.' }] }, { verb: 'hangup' }]
  const document = await read(JSON.stringify([{ verb: 'dial', targets: [number], confirm }]))
  assert.deepEqual(document?.verbs, [
    {
      verb: 'dial',
      targets: [{ number: '+447700900123', send_digits: '1', status_url: 'https://example.com/status' }],
      confirm: [{ ...confirm[0], action: 'https://example.com/calls/key' }, { verb: 'hangup' }],
    },
  ])
  assert.match(document?.notes.join() ?? '', /target 1: the attribute colour/)
  const dial = { verb: 'dial', targets: [{ number: '+447700900123' }] }
  for (const verb of ['dial', 'record', 'stream', 'ring'])
    await refuses([{ ...dial, confirm: [{ verb }] }], 'verb', new RegExp(`confirm 1: the verb ${verb}`))
  await refuses([{ ...dial, confirm: [] }], 'attribute', /confirm/)
})

test('an error names the verb and the attribute', async () => {
  await refuses([{ verb: 'pause' }, { verb: 'conference', name: 'x' }], 'verb', /verb 2: the verb conference/)
  await refuses([{ verb: 'gather', num_digits: 0 }], 'attribute', /verb 1 \(gather\): num_digits/)
  await refuses([{ verb: 'gather', prompts: [{ verb: 'say' }] }], 'attribute', /prompt 1 \(say\).*text/)
  await refuses([{ verb: 'gather', prompts: [{ verb: 'hangup' }] }], 'verb', /prompt 1: the verb hangup/)
  await refuses([{ verb: 'play' }], 'attribute', /verb 1 \(play\): give one of/)
  await refuses([{ verb: 'constructor' }], 'verb', /constructor/)
  await refuses(['hangup'], 'malformed', /verb 1 is not an object/)
  await refuses('hangup', 'malformed', /a list of verbs/)
})

test('a document is limited in bytes, verbs and depth', async () => {
  await refuses([{ verb: 'say', text: 'x'.repeat(65_536) }], 'too_large', /64 KiB/)
  await refuses(Array(201).fill({ verb: 'pause' }), 'too_large', /200 verbs/)
  await refuses(
    [{ verb: 'gather', prompts: Array(50).fill({ verb: 'pause' }) }, ...Array(150).fill({ verb: 'pause' })],
    'too_large',
    /200 verbs/,
  )
  await assert.rejects(read(`${'['.repeat(30_000)}${']'.repeat(30_000)}`), { code: 'malformed' })
})

test('characters that the database cannot store are replaced, in names too', async () => {
  const document = await read('[{"verb":"tag","data":{"a\\u0000":"\\uD83D","b":"\\ud83d\\ude00"}}]')
  assert.deepEqual(document?.verbs, [{ verb: 'tag', data: { 'a\ufffd': '\ufffd', b: '\u{1f600}' } }])
})

test('XML by its content types is compiled, and other types are refused', async () => {
  for (const type of ['text/xml', 'application/xml', 'text/html']) {
    const document = await read('<Response><Hangup/></Response>', type)
    assert.deepEqual(document?.verbs, [{ verb: 'hangup' }])
    assert.deepEqual(document?.notes, ['an attribute was ignored'])
  }
  await assert.rejects(read('<html/>', 'text/html'), { code: 'malformed' })
  await assert.rejects(read('hello', 'text/plain'), { code: 'content_type' })
  await assert.rejects(read('[', 'application/json'), { code: 'malformed' })
  await assert.rejects(read('[]', 'application/json', 302), { code: 'status', status: 302 })
})
