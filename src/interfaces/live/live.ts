import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { onRecorded } from '../../domains/events/ops.ts'
import { refusals as webhookRefusals } from '../../domains/webhooks/refusals.ts'
import { blockedRefusal, keyRefusal } from '../../platform/http/auth.ts'
import { Problem, refuse } from '../../platform/http/problem.ts'
import type { Session, SessionAccount } from '../../platform/http/session.ts'
import type { Upgrade } from '../../platform/http/upgrade.ts'
import { makeFairLimiter } from '../../platform/lib/fair-limiter.ts'
import { parse, print, timeOf, uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { makeResumeReader } from '../tunnel/ops.ts'
import { refusals as tunnelRefusals } from '../tunnel/refusals.ts'
import { type LiveTopic, livePath, liveProtocol } from './contract.ts'
import { makeEventFeed } from './event-feed.ts'
import {
  extraEventDays,
  headMs,
  maxFrameBytes,
  maxSocketsOfAccount,
  pollMs,
  resumeLimits,
  socketLimits,
  statePollMs,
  subscribeWithinMs,
} from './limits.ts'
import { type LiveSession, type ResumeReader, type Subscription, startLiveSession } from './live-session.ts'
import { refusals } from './refusals.ts'
import { makeStateFeed } from './state-feed.ts'
import * as store from './store.ts'
import { mayFollow, parseTopic, type Topic } from './topics.ts'

/** Keeps pages of the console current. */
export type Live = {
  readonly upgrade: Upgrade
  /** Repeated work, with the milliseconds between its runs. */
  readonly periodic: readonly { readonly everyMs: number; run(): Promise<void> }[]
  /** Number of open sockets. */
  openSockets(): number
  close(): void
}

/** A page, and when it connected: Unix milliseconds. */
type Page = { readonly connectedAt: number }

/** @param addressOf the client address of a request, from trusted proxies as the settings say */
export const makeLive = (
  { db, sessions, changes, log, config, clock, version }: Services,
  addressOf: (request: IncomingMessage) => string,
): Live => {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    handleProtocols: () => liveProtocol,
  })
  const pages = new Map<LiveSession, Page>()
  const onError = (error: unknown) => log.warn({ err: error }, 'live: failed to read')
  const feed = makeEventFeed(db, onError)
  const state = makeStateFeed(db, () => [...pages.keys()])
  const sockets = makeFairLimiter(socketLimits)
  const shares = makeFairLimiter({ perKey: maxSocketsOfAccount, total: socketLimits.total })
  const resumes = makeFairLimiter(resumeLimits)
  const retentionMs = (config.deliveryDays + extraEventDays) * 86_400_000

  const unsubscribe = onRecorded((_webhooks, accounts) => void feed.wake(accounts))
  changes.on('users', () => void state.compareTeams().catch(onError))

  const now = () => new Date(clock.now()).toISOString()

  /** Checks one topic. @throws Problem */
  const checkTopic = async (text: string, { account, key }: SessionAccount): Promise<Topic> => {
    const topic = parseTopic(text) ?? refuse(refusals.unknownTopic(text))
    if (!mayFollow(topic, key.scopes)) throw refusals.topicNotAllowed(topic.name)
    if (topic.webhook !== null && !(await store.hasWebhook(db, account.id, topic.webhook)))
      throw webhookRefusals.unknownWebhook(print('WHK', topic.webhook))
    return topic
  }

  const refuseTopic = (page: LiveSession, topic: string, error: unknown) => {
    if (!(error instanceof Problem)) throw error
    page.send({ type: 'refused', topic, error_code: error.code, error_message: error.message })
  }

  const socketsOf = (account: string): number =>
    [...pages.keys()].filter((page) => page.subscription()?.account === account).length

  /** @throws Problem if the session may not act for the account */
  const enter = async (session: Session, printed: string, address: string): Promise<SessionAccount> => {
    const entered = await sessions.accountOf(session, printed)
    if (entered.account.blocked) throw blockedRefusal(entered.account)
    const refusal = keyRefusal(entered.key, { ip: address })
    if (refusal) throw refusal
    return entered
  }

  const subscribe = async (
    session: Session,
    address: string,
    printed: string,
    texts: readonly string[],
    page: LiveSession,
  ): Promise<Subscription | null> => {
    try {
      const entered = await enter(session, printed, address)
      const isThere = page.subscription()?.account === entered.account.id
      if (!isThere && socketsOf(entered.account.id) >= maxSocketsOfAccount)
        throw refusals.tooManySockets(maxSocketsOfAccount)
      const topics = new Set<LiveTopic>()
      for (const text of new Set(texts))
        try {
          topics.add((await checkTopic(text, entered)).name)
        } catch (error) {
          refuseTopic(page, text, error)
        }
      return { account: entered.account.id, topics }
    } catch (error) {
      for (const text of new Set(texts)) refuseTopic(page, text, error)
      return null
    }
  }

  /** Reads what a page missed; null if its last event may be deleted already. */
  const resume = (account: string, after: string, isResumed: boolean): ResumeReader | null => {
    if (timeOf(after) < Date.now() - retentionMs) return null
    const reader = makeResumeReader(db, account, after, isResumed)
    return { next: (limit) => resumes.run(account, () => reader.next(limit)) }
  }

  const readQuery = (url: string): string | null => {
    const after = new URLSearchParams(url.split('?', 2)[1] ?? '').get('after') || null
    return after && (parse('EVT', after) ?? refuse(tunnelRefusals.badAfter()))
  }

  const offersProtocol = ({ headers }: IncomingMessage): boolean =>
    String(headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .some((name) => name.trim() === liveProtocol)

  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const address = addressOf(request)
    const session = await sessions.ofUpgrade(request, address)
    if (!offersProtocol(request)) throw refusals.badProtocol(liveProtocol)
    const after = readQuery(request.url ?? '')
    if (!sockets.tryAcquire(session.id)) throw refusals.tooManySockets(sockets.used(session.id))
    socket.once('close', () => sockets.release(session.id))
    // Many sessions of one account must not take the sockets of others before they subscribe.
    const share = session.accounts[0]?.account.id ?? session.id
    if (!shares.tryAcquire(share)) throw refusals.tooManySockets(shares.used(share))
    socket.once('close', () => shares.release(share))
    server.handleUpgrade(request, socket, head, (browser) => {
      const page = startLiveSession({
        socket: browser,
        build: version,
        after: after ?? uuid(),
        now,
        subscribe: (account, topics, one) => subscribe(session, address, account, topics, one),
        watch: async (account, one) => {
          const end = await feed.watch(account, one)
          void feed.wake([account])
          return end
        },
        resume: (account, from) => resume(account, from, after !== null),
        onError,
      })
      pages.set(page, { connectedAt: performance.now() })
      const signedOut = () => page.bye(4401, 'the session ended')
      const unwatch = sessions.watch(session, {
        onEnd: signedOut,
        onChange: () => page.bye(4403, 'the rights of the session changed'),
      })
      browser.on('close', () => {
        unwatch()
        pages.delete(page)
      })
      // The session may have ended while the request was admitted.
      sessions.reload(session.id).then((current) => (current ? undefined : signedOut()), onError)
    })
  }

  /** Sends heads, pings all pages and closes those that are gone. */
  const beat = async () => {
    for (const [page, { connectedAt }] of pages) {
      if (page.subscription()) page.head()
      else if (performance.now() - connectedAt > subscribeWithinMs) page.close(1008, 'no subscription')
      page.ping()
    }
  }

  return {
    upgrade: { path: livePath, open },
    periodic: [
      { everyMs: pollMs, run: () => (feed.size() > 0 ? feed.poll() : Promise.resolve()) },
      { everyMs: statePollMs, run: () => (pages.size > 0 ? state.poll() : Promise.resolve()) },
      { everyMs: headMs, run: beat },
    ],
    openSockets: () => pages.size,
    close: () => {
      unsubscribe()
      for (const page of pages.keys()) page.bye(1012, 'the server is restarting')
    },
  }
}
