import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { uuid } from '../../platform/lib/id.ts'
import { Pacer } from '../../platform/lib/pacer.ts'
import type { ReceiptState, SmsDriver, SubmitResult } from '../../ports/sms.ts'
import { type CarrierAnswer, carrierSuite, makeShareDeps, type ReceivedText } from './carrier.conformance.ts'
import { smsDrivers } from './drivers.ts'
import type { SmsWorld } from './sms-testing.ts'

// A kind of carrier that the platform has never seen: HTTP requests with whole texts, callbacks for receipts and inbound
// messages. The table of drivers is all that learns of it.

type Settings = { readonly url: string; readonly secret: string; readonly tps?: number; readonly slots?: number }

type Notice =
  | { readonly id: string; readonly state: ReceiptState }
  | { readonly from: string; readonly to: string; readonly text: string }

const window = 10

const resultOf = async (response: Response): Promise<SubmitResult> => {
  const { id = '', code = '' }: { id?: string; code?: string } = JSON.parse(await response.text())
  if (response.status === 200) return { outcome: 'accepted', carrierId: id }
  if (response.status === 429) return { outcome: 'retry', wasSent: true, reason: code, seconds: 0.05 }
  return { outcome: 'refused', reason: code }
}

const httpDriver: SmsDriver<Settings> = {
  capabilitiesOf: ({ tps = null, slots = 1 }) => ({
    ...{ send: true, texts: 'whole', header: 'udh8', languages: [], receipts: true, inbound: true, pace: tps, slots },
  }),
  connect: ({ url, tps }, { events, share }) => {
    const part = share.held / share.of
    const pacer = new Pacer(tps === undefined ? tps : tps * part, window * part, performance.now())
    const counts = { inFlight: 0, submitted: 0 }
    const since = Date.now()
    let timer: NodeJS.Timeout | undefined
    let isClosed = false
    const freeWindow = () =>
      isClosed ? 0 : Math.max(0, Math.min(window - counts.inFlight, pacer.available(performance.now())))
    setImmediate(events.changed)
    // A timer may end a moment early by the clock of the pacer.
    const awaitPace = () => {
      clearTimeout(timer)
      const wait = pacer.waitMs(performance.now())
      if (wait === 0) events.changed()
      else timer = setTimeout(awaitPace, wait)
    }
    return {
      freeWindow,
      isUp: () => !isClosed,
      state: () => ({
        ...{ state: isClosed ? 'closed' : 'up', since, lastError: null, ...counts, fatal: false, window, links: [] },
      }),
      submit: async ({ source, destination, text }) => {
        const now = performance.now()
        if (freeWindow() === 0)
          return { outcome: 'retry', wasSent: false, reason: 'no_capacity', seconds: pacer.waitMs(now) / 1_000 }
        pacer.consume(now)
        counts.inFlight++
        counts.submitted++
        awaitPace()
        const body = JSON.stringify({ from: source, to: destination, text })
        const result = await fetch(url, { method: 'POST', body }).then(
          resultOf,
          (error): SubmitResult => ({ outcome: 'unknown', reason: 'unanswered', detail: String(error) }),
        )
        counts.inFlight--
        events.changed()
        return result
      },
      close: async () => {
        clearTimeout(timer)
        isClosed = true
      },
    }
  },
  callback: async ({ secret }, { headers, raw }, intake) => {
    if (headers['x-secret'] !== secret) return { status: 401, body: '' }
    const notice: Notice = JSON.parse(raw.toString())
    if ('id' in notice) await intake.receipt({ carrierId: notice.id, state: notice.state, error: null })
    else await intake.inbound({ source: notice.from, destination: notice.to, text: notice.text, concat: null })
    return { status: 200, body: 'ok' }
  },
  acceptedStatus: 'ok',
  isKnownReason: (reason) => ['slow_down', 'bad_number'].includes(reason),
  reasons: new Map([['bad_number', { text: 'The carrier does not serve this number', advice: 'check_number' }]]),
}

const kind = 'test-http'
smsDrivers.set(kind, httpDriver)
after(() => void smsDrivers.delete(kind))

let callBack: (connection: string, notice: Notice, secret?: string) => Promise<number>

const connectTo = async ({ db, parts }: SmsWorld, settings: Settings): Promise<string> => {
  const id = uuid()
  await db.begin(async (tx) => {
    const sealed = parts.seal.close(JSON.stringify({ secret: settings.secret }))
    await tx.run`
      insert into connections (id, kind, name, settings, sealed_secrets)
      values (${id}, ${kind}, 'conformance', ${{ url: settings.url, tps: settings.tps }}, ${sealed})`
    await parts.changes.invalidate(tx, 'connections')
  })
  await until(async () => parts.carriers.state(id)?.state === 'up')
  await parts.routing.ready()
  return id
}

await carrierSuite('HTTP', async (world) => {
  const received: ReceivedText[] = []
  const answers: CarrierAnswer[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    const given: { from: string; text: string } = JSON.parse(await text(request))
    const id = `http-${received.length}`
    received.push({ id, source: given.from, text: given.text, part: 1 })
    const answer = answers.shift() ?? 'accept'
    if (answer === 'cut') return response.destroy()
    const [status, body] = {
      ...{ accept: [200, { id }] as const, busy: [429, { code: 'slow_down' }] as const },
      ...{ refuse: [400, { code: 'bad_number' }] as const },
    }[answer]
    return response.writeHead(status).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/messages`
  const ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
  let current = ''
  callBack = async (connection, notice, secret = 'a secret') => {
    const headers = { 'content-type': 'application/json', 'x-secret': secret }
    const address = `${ours}/callbacks/sms/CNX${connection}`
    const answered = await fetch(address, { method: 'POST', headers, body: JSON.stringify(notice) })
    await answered.text()
    return answered.status
  }

  test('HTTP: a callback with a wrong secret, or for a connection of no such driver, is refused alike', async () => {
    const connection = await connectTo(world, { url, secret: 'a secret' })
    const notice = { id: 'http-0', state: 'delivered' } as const
    const answered = [await callBack(connection, notice, 'wrong'), await callBack(uuid(), notice)]
    assert.deepEqual(answered, [401, 401])
    assert.equal(await callBack(connection, notice), 200)
    await world.db.run`delete from connections where id = ${connection}`
  })

  return {
    capabilities: httpDriver.capabilitiesOf({ url, secret: '' }),
    connectShare: (share, pace) =>
      httpDriver.connect({ url, secret: '', tps: pace, slots: share.of }, makeShareDeps(share)),
    received,
    answers,
    codes: { busy: 'slow_down', refuse: 'bad_number' },
    connect: async (pace) => {
      current = await connectTo(world, { url, secret: 'a secret', ...(pace === null ? {} : { tps: pace }) })
      return current
    },
    disconnect: async (connection) => {
      await world.db.begin(async (tx) => {
        await tx.run`delete from connections where id = ${connection}`
        await world.parts.changes.invalidate(tx, 'connections')
      })
      await until(async () => world.parts.carriers.state(connection) === null)
    },
    report: async (id, state) => assert.equal(await callBack(current, { id, state }), 200),
    write: async (from, to, written) => assert.equal(await callBack(current, { from, to, text: written }), 200),
  }
})
