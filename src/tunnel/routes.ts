import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { eventOf, onRecorded, type Spelling } from '../events/ops.ts'
import type { AccountKey } from '../http/auth.ts'
import type { Naming } from '../http/naming.ts'
import { invalid, Problem } from '../http/problem.ts'
import { admitUpgrade, type Upgrade, upgradeRefusal } from '../http/upgrade.ts'
import { makeFairLimiter } from '../lib/fair-limiter.ts'
import { parse, uuid } from '../lib/id.ts'
import { shownSecret } from '../lib/signature.ts'
import type { Parts } from '../parts.ts'
import { listenPath } from './contract.ts'
import { makeReader, startBehind } from './reader.ts'
import { type Session, startSession } from './session.ts'

/** Laptops that listen at a time: of one account, and of all. Each process counts its own. */
const mostListening = { perKey: 10, total: 500 }
/** Reads of events at a time: the laptops of one account read one after the other, and use few connections together. */
const mostReading = { perKey: 1, total: 3 }

/** Of a frame of the laptop, in bytes. */
const longestFrame = 4_096

/** What was asked for in an address; events by their own names, each with the spelling that was used. @throws Problem 400 */
const readQuery = (url: string, { inbound }: Naming, msgappName: string | null) => {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '')
  const names = new Map<string, Spelling>()
  for (const spelt of (query.get('events') ?? '').split(',').filter(Boolean)) {
    const eventName = inbound?.({ url: spelt }) ?? spelt
    names.set(eventOf(eventName), { eventName, msgappName: eventName === spelt ? null : msgappName })
  }
  const after = query.get('after') || null
  const id = after && (parse('EVT', after) ?? invalid('after must be the id of an event: it starts with EVT'))
  return { names: names.size > 0 ? names : null, after: id }
}

/** The key that signs for whoever listens with an API key: made from it, so that it is the same the next time, and stored
 *  nowhere. */
const signingKey = (apiKey: string): Buffer => createHmac('sha256', apiKey).update('trunkline listen').digest()

const needs = 'develop'

/** Why a connection is closed, by the code of the refusal that a new one would get. */
const reasons = new Map([
  ['account_blocked', 'the account is blocked'],
  ['key_expired', 'the key has expired'],
  ['scope_missing', `the key lacks the scope ${needs}`],
  ['address_not_allowed', 'the key may not be used from this address'],
])

/** Who listens: whether that one still may is asked again. */
type Listener = {
  readonly account: string
  readonly text: string
  readonly address: string
  key: AccountKey
}

/** Tells laptops of their accounts' events as they happen. */
export type Tunnel = {
  readonly upgrade: Upgrade
  /** Looks for what other processes recorded. */
  look(): Promise<void>
  /** Gives up those that are gone. */
  beat(): Promise<void>
  close(): void
}

/** @param addressOf the address behind a request, proxies believed as the settings say */
export const makeTunnel = (
  { db, auth, meter, throttle, changes, log, config }: Parts,
  naming: Naming,
  addressOf: (request: IncomingMessage) => string,
): Tunnel => {
  const server = new WebSocketServer({ noServer: true, maxPayload: longestFrame, perMessageDeflate: false })
  const sessions = new Map<Session, Listener>()
  const onError = (error: unknown) => log.warn({ err: error }, 'events could not be read for a laptop')

  const closeIfRefused = (session: Session, { key, address }: Listener) => {
    const refusal = upgradeRefusal(key, address, needs)
    // A close frame has room for 123 bytes (RFC 6455, 5.5).
    if (refusal) session.close(4401, reasons.get(refusal.code) ?? refusal.code)
  }

  const check = async (session: Session, listener: Listener) => {
    const { known, find } = auth.accounts
    const key = known(listener.text) ?? (await find(listener.text))
    if (!key) return session.close(4401, 'the key was revoked')
    listener.key = key
    closeIfRefused(session, listener)
  }

  // A key that was revoked or limited since, or whose account was blocked, gets no more events.
  const checkAll = async () => {
    for (const [session, listener] of sessions) await check(session, listener)
  }
  changes.on('accounts', () => void checkAll().catch(onError))

  const hush = onRecorded((_webhooks, accounts) => {
    for (const [session, { account }] of sessions) if (accounts.includes(account)) session.look()
  })

  const listeners = makeFairLimiter(mostListening)
  const reads = makeFairLimiter(mostReading)

  const enter = (account: string) => {
    if (listeners.tryAcquire(account)) return
    const own = listeners.used(account)
    throw new Problem('tooMany', `${own} listen for this account already: end one of them`, 'too_many_listeners', {
      'retry-after': '10',
    })
  }

  /** A reader whose reads wait for the turn of the account. */
  const fairReader = (account: string, start: string, names: readonly string[] | null) => {
    const reader = makeReader(db, account, start, names)
    return { ...reader, next: (limit: number) => reads.run(account, () => reader.next(limit)) }
  }

  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const address = addressOf(request)
    const key = await admitUpgrade({ auth, meter, throttle }, request, address, needs)
    const account = key.account.id
    const { names, after } = readQuery(request.url ?? '', naming, config.msgappName)
    enter(account)
    socket.once('close', () => listeners.release(account))
    const text = String(request.headers['x-user-api-key'])
    const start = uuid()
    server.handleUpgrade(request, socket, head, (laptop) => {
      const signing = signingKey(text)
      const session = startSession({
        socket: laptop,
        reader: fairReader(account, after ? startBehind(after) : start, names && [...names.keys()]),
        key: signing,
        secret: shownSecret(signing),
        after: after ?? start,
        spellings: names,
        onError,
      })
      const listener = { account, text, address, key }
      sessions.set(session, listener)
      // The key may have been revoked while the request was admitted.
      void check(session, listener).catch(onError)
      laptop.on('close', () => sessions.delete(session))
    })
  }

  return {
    upgrade: { path: listenPath, open },
    look: async () => {
      for (const [session, listener] of sessions) {
        // A key expires by the clock, without a change in the database.
        closeIfRefused(session, listener)
        session.look()
      }
    },
    beat: async () => {
      for (const session of sessions.keys()) session.beat()
    },
    close: () => {
      hush()
      for (const session of sessions.keys()) session.close(1001, 'the server is stopping')
    },
  }
}
