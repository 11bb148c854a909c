import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type EventSpelling, onRecorded, requireEventName, spellingOf } from '../../domains/events/ops.ts'
import { contentsOf } from '../../domains/inbox/narrowing/ops.ts'
import type { Alias } from '../../platform/http/alias.ts'
import type { AccountKey } from '../../platform/http/auth.ts'
import { refuse } from '../../platform/http/problem.ts'
import { authenticateUpgrade, type Upgrade, upgradeRefusal } from '../../platform/http/upgrade.ts'
import { makeFairLimiter } from '../../platform/lib/fair-limiter.ts'
import { parse, uuid } from '../../platform/lib/id.ts'
import { formatSigningSecret } from '../../platform/lib/webhook-signature.ts'
import type { Services } from '../../services.ts'
import { listenPath } from './contract.ts'
import { makeEventReader, startAfter } from './event-reader.ts'
import { listenerLimits, maxFrameBytes, readLimits } from './limits.ts'
import { type ListenSession, startListenSession } from './listen-session.ts'
import { refusals } from './refusals.ts'

/** Reads the query of the path: events by their own names, each with the requested spelling. @throws Problem 400 */
const readQuery = (url: string, { rewriteUrl }: Alias, msgappName: string | null) => {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '')
  const names = new Map<string, EventSpelling>()
  for (const spelt of (query.get('events') ?? '').split(',').filter(Boolean)) {
    const eventName = rewriteUrl?.({ url: spelt }) ?? spelt
    const requested = eventName === spelt ? null : msgappName
    names.set(requireEventName(eventName), spellingOf(eventName, requested, msgappName))
  }
  const after = query.get('after') || null
  const id = after && (parse('EVT', after) ?? refuse(refusals.badAfter()))
  return { names: names.size > 0 ? names : null, after: id }
}

/** The signing key of an API key. Derived from it, so that it stays the same, and stored nowhere. */
const signingKey = (apiKey: string): Buffer => createHmac('sha256', apiKey).update('trunkline listen').digest()

const requiredScope = 'develop'

/** Close reasons, by the error code that a new connection would get. */
const closeReasons = new Map([
  ['account_blocked', 'the account is blocked'],
  ['account_closed', 'the account is closed'],
  ['key_expired', 'the key has expired'],
  ['scope_missing', `the key lacks the scope ${requiredScope}`],
  ['address_not_allowed', 'the key may not be used from this address'],
])

/** A listener, whose permission is checked repeatedly. */
type Listener = {
  readonly account: string
  readonly keyText: string
  readonly address: string
  key: AccountKey
}

/** Delivers events to listening laptops as they happen. */
export type Tunnel = {
  readonly upgrade: Upgrade
  /** Delivers events that other processes recorded. */
  deliverPending(): Promise<void>
  /** Pings all listeners and closes those that are gone. */
  ping(): Promise<void>
  close(): void
}

export const makeTunnel = (
  { db, auth, rateLimiter, authThrottle, refusedAccess, changes, log, config, proxies }: Services,
  naming: Alias,
): Tunnel => {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes, perMessageDeflate: false })
  const sessions = new Map<ListenSession, Listener>()
  const onError = (error: unknown) => log.warn({ err: error }, 'tunnel: failed to read events')

  const closeIfRefused = (session: ListenSession, { key, address }: Listener) => {
    const refusal = upgradeRefusal(key, address, requiredScope)
    // A close frame has room for 123 bytes (RFC 6455, 5.5).
    if (refusal) session.close(4401, closeReasons.get(refusal.code) ?? refusal.code)
  }

  const check = async (session: ListenSession, listener: Listener) => {
    const { cached, find } = auth.accounts
    const key = cached(listener.keyText) ?? (await find(listener.keyText))
    if (!key) return session.close(4401, 'the key was revoked')
    listener.key = key
    closeIfRefused(session, listener)
  }

  // A key that was revoked or limited, or whose account was blocked, gets no more events.
  const checkAll = async () => {
    for (const [session, listener] of sessions) await check(session, listener)
  }
  changes.on('accounts', () => void checkAll().catch(onError))

  const unsubscribe = onRecorded((_webhooks, accounts) => {
    for (const [session, { account }] of sessions) if (accounts.includes(account)) session.deliverPending()
  })

  const listeners = makeFairLimiter(listenerLimits)
  const reads = makeFairLimiter(readLimits)

  const acquireListener = (account: string) => {
    if (listeners.tryAcquire(account)) return
    const own = listeners.used(account)
    throw refusals.tooManyListeners(own)
  }

  /** A reader whose reads wait for the account's turn. */
  const fairReader = (account: string, start: string, names: readonly string[] | null) => {
    const reader = makeEventReader(db, account, start, names)
    return { ...reader, next: (limit: number) => reads.run(account, () => reader.next(limit)) }
  }

  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const address = proxies.address(request)
    const key = await authenticateUpgrade({ auth, rateLimiter, authThrottle, refusedAccess }, request, address, {
      needs: requiredScope,
      operation: 'listen',
    })
    const account = key.account.id
    const { names, after } = readQuery(request.url ?? '', naming, config.msgappName)
    const contents = await contentsOf(db, { account: key.account, key, request: { sessionAccount: null } })
    acquireListener(account)
    socket.once('close', () => listeners.release(account))
    const text = String(request.headers['x-user-api-key'])
    const start = uuid()
    server.handleUpgrade(request, socket, head, (laptop) => {
      const signing = signingKey(text)
      const session = startListenSession({
        socket: laptop,
        reader: fairReader(account, after ? startAfter(after) : start, names && [...names.keys()]),
        key: signing,
        secret: formatSigningSecret(signing),
        after: after ?? start,
        spellings: names,
        contents,
        onError,
      })
      const listener: Listener = { account, keyText: text, address, key }
      sessions.set(session, listener)
      // The key may have been revoked while the request was admitted.
      void check(session, listener).catch(onError)
      laptop.on('close', () => sessions.delete(session))
    })
  }

  return {
    upgrade: { path: listenPath, open },
    deliverPending: async () => {
      for (const [session, listener] of sessions) {
        // A key expires by the clock, without a change in the database.
        closeIfRefused(session, listener)
        session.deliverPending()
      }
    },
    ping: async () => {
      for (const session of sessions.keys()) session.ping()
    },
    close: () => {
      unsubscribe()
      for (const session of sessions.keys()) session.close(1001, 'the server is stopping')
    },
  }
}
