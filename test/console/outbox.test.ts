import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../platform.ts'

// What waits to be sent, without a browser: its storage and requests are those of a page that the test plays.

type StoredRow = { readonly id: string; readonly [field: string]: unknown }

/** An object store in memory, as far as the outbox uses it. */
const makeStorage = () => {
  const rows = new Map<string, StoredRow>()
  const request = (act: () => unknown) => {
    const made: { result?: unknown; onsuccess?: () => void; onupgradeneeded?: () => void } = {}
    queueMicrotask(() => {
      made.result = act()
      made.onupgradeneeded?.()
      made.onsuccess?.()
    })
    return made
  }
  const store = {
    getAll: () => request(() => [...rows.values()]),
    get: (id: string) => request(() => rows.get(id)),
    put: (row: StoredRow) => request(() => void rows.set(row.id, structuredClone(row))),
    delete: (id: string) => request(() => void rows.delete(id)),
  }
  const database = { createObjectStore: () => store, transaction: () => ({ objectStore: () => store }) }
  return { rows, indexedDB: { open: () => request(() => database) } }
}

type SentRequest = {
  readonly url: string
  readonly account: string | null
  readonly text: string
  readonly key: string | null
  readonly body: string
}

/** The page's surroundings. They are those of the process, which ends with this file. */
const storage = makeStorage()
const sent: SentRequest[] = []
/** Whether requests have a session. Without one they are refused at once, and their messages wait. */
const session = { isOpen: false, refused: 0 }
/** Texts whose next response is lost on its way; the session ends with it. */
const lost = new Set<string>()
let items = 0
Object.assign(globalThis, {
  indexedDB: storage.indexedDB,
  addEventListener: () => {},
  document: { addEventListener: () => {}, visibilityState: 'visible' },
  fetch: async (url: string, { headers, body }: { headers: Headers; body: string }) => {
    if (!session.isOpen) {
      session.refused++
      return Response.json({ success: false, error_code: 'session_expired' }, { status: 401 })
    }
    const { text } = JSON.parse(body)
    sent.push({ url, account: headers.get('x-account'), text, key: headers.get('idempotency-key'), body })
    if (lost.delete(text)) {
      session.isOpen = false
      throw new TypeError('Failed to fetch')
    }
    const item = { uuid: `SMO0190000${++items}-0000-7000-8000-000000000000`, kind: 'sms' }
    return Response.json({ success: true, item }, { status: 202 })
  },
})
const { requestContext } = await import('../../console/api/send.ts')
const { openOutbox, outgoing, sendMessage } = await import('../../console/inbox/outbox.ts')
const { line } = await import('../../console/live/socket.ts')

const arrived: string[] = []
const listeners = {
  onSent: (conversation: string) => void arrived.push(conversation),
  onMoved: () => assert.fail('moved'),
  onNews: () => assert.fail('news'),
}
/** A person opens the page for an account. */
const enter = async (account: string, user: string) => {
  requestContext.account = account
  await openOutbox(user, listeners)
}
const waiting = () => outgoing.value.map(({ body }) => body.text)
/** Writes a message, whose first request is refused. */
const write = async (conversation: string, text: string) => {
  const before = session.refused
  sendMessage(conversation, { channel_uuid: 'SMS1', text })
  const isWaiting = () =>
    [...storage.rows.values()].some((row) => row.state === 'waiting' && Object(row.body).text === text)
  await until(async () => session.refused > before && isWaiting())
}

test('a page sends what its person wrote in its account, and nothing that another person or account has there', async () => {
  await enter('ACC1', 'USR1')
  await write('CNV1', 'of one')

  // A colleague opens the page in the same browser.
  await enter('ACC1', 'USR2')
  assert.deepEqual(waiting(), [])
  await write('CNV1', 'of two')
  await enter('ACC2', 'USR1')
  assert.deepEqual(waiting(), [])
  await write('CNV9', 'of one, elsewhere')
  assert.deepEqual(waiting(), ['of one, elsewhere'])
  await enter('ACC1', 'USR2')
  assert.deepEqual(waiting(), ['of two'])

  session.isOpen = true
  line.value = { state: 'open', since: 0 }
  await until(async () => sent.length > 0 && waiting().length === 0)
  assert.deepEqual(
    sent.map(({ account, text, url }) => [account, text, url]),
    [['ACC1', 'of two', '/open/conversations/CNV1/messages']],
  )
  assert.deepEqual([...storage.rows.values()].map(({ user, account }) => [user, account]).sort(), [
    ['USR1', 'ACC1'],
    ['USR1', 'ACC2'],
  ])

  // Each returns later, and sends its own.
  await enter('ACC1', 'USR1')
  await until(async () => sent.length === 2 && waiting().length === 0)
  await enter('ACC2', 'USR1')
  await until(async () => sent.length === 3 && waiting().length === 0)
  assert.deepEqual(
    sent.map(({ account, text }) => [account, text]),
    [
      ['ACC1', 'of two'],
      ['ACC1', 'of one'],
      ['ACC2', 'of one, elsewhere'],
    ],
  )
  await until(async () => storage.rows.size === 0)
  assert.equal(new Set(sent.map(({ key }) => key)).size, 3)
})

test('a message whose response was lost goes again as it was, also by the next page', async () => {
  session.isOpen = true
  sent.length = 0
  lost.add('two')
  await enter('ACC1', 'USR1')
  sendMessage('CNV2', { channel_uuid: 'SMS1', text: 'one' })
  sendMessage('CNV2', { channel_uuid: 'SMS1', text: 'two' })
  await until(async () => [...storage.rows.values()].some(({ state }) => state === 'waiting') && sent.length === 2)

  // The page is loaded again: it knows what is stored only.
  session.isOpen = true
  const again = '../../console/inbox/outbox.ts?again'
  const reloaded: typeof import('../../console/inbox/outbox.ts') = await import(again)
  await reloaded.openOutbox('USR1', listeners)
  await until(async () => storage.rows.size === 0)
  const [, first, second] = sent
  assert.equal(sent.length, 3)
  assert.match(first?.body ?? '', /"seen":"SMO0190/)
  assert.deepEqual(second, first)
})
