import { createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { eventOf, onRecorded, type Spelling } from '../events/ops.ts'
import type { Naming } from '../http/naming.ts'
import { invalid, Problem } from '../http/problem.ts'
import { admitUpgrade, type Upgrade } from '../http/upgrade.ts'
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

/** Tells laptops of their accounts' events as they happen. */
export type Tunnel = {
  readonly upgrade: Upgrade
  /** Looks for what other processes recorded. */
  look(): Promise<void>
  /** Gives up those that are gone. */
  beat(): Promise<void>
  close(): void
}

export const makeTunnel = ({ db, auth, meter, changes, log, config }: Parts, naming: Naming): Tunnel => {
  const server = new WebSocketServer({ noServer: true, maxPayload: longestFrame, perMessageDeflate: false })
  const sessions = new Map<Session, { account: string; key: string }>()
  const onError = (error: unknown) => log.warn({ err: error }, 'events could not be read for a laptop')

  // Whose key was revoked, or whose account was blocked, hears no more.
  const check = async () => {
    for (const [session, { key }] of sessions) {
      const account = await auth.account(key)
      if (!account || account.blocked) session.close(4401, account ? 'the account is blocked' : 'the key was revoked')
    }
  }
  changes.on('accounts', () => void check().catch(onError))

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
    const { id: account } = await admitUpgrade(auth, meter, request)
    const { names, after } = readQuery(request.url ?? '', naming, config.msgappName)
    enter(account)
    socket.once('close', () => listeners.release(account))
    const key = String(request.headers['x-user-api-key'])
    const start = uuid()
    server.handleUpgrade(request, socket, head, (laptop) => {
      const signing = signingKey(key)
      const session = startSession({
        socket: laptop,
        reader: fairReader(account, after ? startBehind(after) : start, names && [...names.keys()]),
        key: signing,
        secret: shownSecret(signing),
        after: after ?? start,
        spellings: names,
        onError,
      })
      sessions.set(session, { account, key })
      laptop.on('close', () => sessions.delete(session))
    })
  }

  return {
    upgrade: { path: listenPath, open },
    look: async () => {
      for (const session of sessions.keys()) session.look()
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
