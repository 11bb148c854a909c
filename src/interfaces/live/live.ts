import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { WebSocketServer } from 'ws'
import { onRecorded } from '../../domains/events/ops.ts'
import { contentsOf, narrowingOf } from '../../domains/inbox/narrowing/ops.ts'
import { refusals as webhookRefusals } from '../../domains/webhooks/refusals.ts'
import { type AuditActor, auditVisit } from '../../platform/http/audit.ts'
import { blockedRefusal, keyRefusal } from '../../platform/http/auth.ts'
import { sessionKeyRefusal } from '../../platform/http/authenticate-session.ts'
import { hasOneOf } from '../../platform/http/capability.ts'
import { Problem, refuse } from '../../platform/http/problem.ts'
import type { Session, SessionAccount } from '../../platform/http/session.ts'
import type { Upgrade } from '../../platform/http/upgrade.ts'
import { makeFairLimiter } from '../../platform/lib/fair-limiter.ts'
import { idAt, parse, print, timeOf, uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { makeResumeReader } from '../tunnel/ops.ts'
import { refusals as tunnelRefusals } from '../tunnel/refusals.ts'
import { type LiveTopic, livePath, liveProtocol } from './contract.ts'
import { makeCountFeed } from './count-feed.ts'
import { type FeedSink, makeEventFeed } from './event-feed.ts'
import {
  countPollMs,
  extraEventDays,
  headMs,
  lateEventMs,
  maxFrameBytes,
  maxSocketsOfAccount,
  maxTopicsOfKind,
  pollMs,
  resumeLimits,
  socketLimits,
  statePollMs,
  subscribeWithinMs,
} from './limits.ts'
import { type LiveSession, type ResumeReader, type Subscription, startLiveSession } from './live-session.ts'
import { narrowEvents } from './narrowed-events.ts'
import { makePresenceBoard } from './presence-board.ts'
import { refusals } from './refusals.ts'
import { makeStateFeed } from './state-feed.ts'
import * as store from './store.ts'
import { mayFollow, parseTopic, showsTexts, type Topic } from './topics.ts'

/** Keeps pages of the console current. */
export type Live = {
  readonly upgrade: Upgrade
  /** Repeated work, with the milliseconds between its runs. */
  readonly periodic: readonly { readonly everyMs: number; run(): Promise<void> }[]
  /** Number of open sockets. */
  openSockets(): number
  close(): Promise<void>
}

/** A page, and when it connected: milliseconds of `performance.now()`. */
type Page = { readonly connectedAt: number; readonly session: Session; readonly address: string }

/** The request of a page. `recorded`: accounts whose texts the page of an operator follows, as the audit trail has it. */
type Visitor = Pick<FastifyRequest, 'ip' | 'id' | 'headers'> & { readonly recorded: Set<string> }

export const makeLive = ({ db, sessions, changes, log, config, clock, version, proxies }: Services): Live => {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    handleProtocols: () => liveProtocol,
  })
  const pages = new Map<LiveSession, Page>()
  const onError = (error: unknown) => log.warn({ err: error }, 'live: failed to read')
  const feed = makeEventFeed(db, onError)
  const openPages = () => [...pages.keys()]
  const state = makeStateFeed(db, openPages)
  const board = makePresenceBoard(db, openPages, onError)
  const counts = makeCountFeed(db, openPages)
  const sockets = makeFairLimiter(socketLimits)
  const shares = makeFairLimiter({ perKey: maxSocketsOfAccount, total: socketLimits.total })
  const resumes = makeFairLimiter(resumeLimits)
  const retentionMs = (config.deliveryDays + extraEventDays) * 86_400_000

  const unsubscribe = onRecorded((_webhooks, accounts) => void feed.wake(accounts))
  changes.on('users', () => void state.compareTeams().catch(onError))
  /** Whether agents of an account see only a part of the inbox. */
  const narrowed = new Map<string, boolean>()
  changes.on('accounts', () => void checkNarrowing().catch(onError))

  const now = () => new Date(clock.now()).toISOString()

  /** Checks one topic. @throws Problem */
  const checkTopic = async (
    text: string,
    { account, key, userId }: SessionAccount,
    isNarrowed: boolean,
  ): Promise<Topic> => {
    const topic = parseTopic(text) ?? refuse(refusals.unknownTopic(text))
    const { kind, id } = topic
    if (!mayFollow(topic, key.scopes)) throw refusals.topicNotAllowed(topic.name)
    if (kind === 'webhook' && !(await store.hasWebhook(db, account.id, id)))
      throw webhookRefusals.unknownWebhook(print('WHK', id))
    if (kind === 'conversation' && !(await store.hasConversation(db, account.id, id, { isNarrowed, user: userId })))
      throw refusals.unknownConversation(print('CNV', id))
    return topic
  }

  /** A page as a request, whose rights the functions of domains decide. */
  const callOf = (entered: SessionAccount) => ({
    account: entered.account,
    key: entered.key,
    request: { sessionAccount: entered },
  })

  /** Whether a page may see only conversations of its user, and those without an assignee. */
  const isNarrowed = async (entered: SessionAccount): Promise<boolean> => {
    const { account, key, role } = entered
    if (!hasOneOf(key, 'inbox')) return false
    const isOn = (await narrowingOf(db, callOf(entered))) !== null
    if (role === 'agent') narrowed.set(account.id, isOn)
    return isOn
  }

  /** Checks again what the pages of an account may follow, after it changed what its agents see. */
  const checkNarrowing = async () => {
    const accounts = new Set(openPages().flatMap((page) => page.subscription()?.account ?? []))
    for (const account of narrowed.keys()) if (!accounts.has(account)) narrowed.delete(account)
    if (narrowed.size === 0) return
    const now = new Set(await store.narrowedAccounts(db, [...narrowed.keys()]))
    const changed = new Set([...narrowed].flatMap(([account, isOn]) => (isOn === now.has(account) ? [] : [account])))
    for (const page of openPages()) if (changed.has(page.subscription()?.account ?? '')) page.recheck()
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

  /** Records once for each page and account that an operator who is no member follows texts. */
  const recordReading = async (session: Session, { account }: SessionAccount, visitor: Visitor): Promise<void> => {
    if (visitor.recorded.has(account.id)) return
    const { person, operator } = session
    const actor: AuditActor = person
      ? { kind: 'operator_person', id: person.id, label: person.name, lastFour: null }
      : {
          kind: 'operator',
          id: operator?.id ?? null,
          label: operator?.label ?? '',
          lastFour: operator?.lastFour ?? null,
        }
    await db.begin((tx) =>
      auditVisit(tx, visitor, 'followInbox', actor, { accounts: [account.id], session: session.id }),
    )
    visitor.recorded.add(account.id)
  }

  const subscribe = async (
    session: Session,
    visitor: Visitor,
    printed: string,
    texts: readonly string[],
    page: LiveSession,
  ): Promise<Subscription | null> => {
    try {
      const entered = await enter(session, printed, visitor.ip)
      const isThere = page.subscription()?.account === entered.account.id
      if (!isThere && socketsOf(entered.account.id) >= maxSocketsOfAccount)
        throw refusals.tooManySockets(maxSocketsOfAccount)
      const isPartial = await isNarrowed(entered)
      const topics = new Map<LiveTopic, Topic>()
      for (const text of new Set(texts))
        try {
          const topic = await checkTopic(text, entered, isPartial)
          const most = maxTopicsOfKind[topic.kind]
          const ofKind = [...topics.values()].filter(({ kind }) => kind === topic.kind)
          if (ofKind.length >= most) throw refusals.tooManyTopics(most)
          topics.set(topic.name, topic)
        } catch (error) {
          refuseTopic(page, text, error)
        }
      if (entered.isOperator && [...topics.keys()].some(showsTexts)) await recordReading(session, entered, visitor)
      const member = entered.userId && session.person ? { user: entered.userId, person: session.person.id } : null
      const next = {
        account: entered.account.id,
        topics: new Set(topics.keys()),
        member,
        isNarrowed: isPartial,
        contents: await contentsOf(db, callOf(entered)),
      }
      board.change(page, next)
      return next
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

  /** Hands the events of an account to a page. */
  const sinkOf = (account: string, page: LiveSession): FeedSink => ({
    receive: (event) => {
      if (event.name.startsWith('conversation.')) counts.mark(account)
      page.receive(event)
    },
  })

  /** @throws Problem */
  const readQuery = (url: string): { readonly after: string | null; readonly since: string | null } => {
    const query = new URLSearchParams(url.split('?', 2)[1] ?? '')
    const [after, since] = [query.get('after') || null, query.get('since') || null]
    const began = since === null ? null : Date.parse(since)
    if (Number.isNaN(began)) throw refusals.badSince()
    return {
      after: after && (parse('EVT', after) ?? refuse(tunnelRefusals.badAfter())),
      since: began === null ? null : idAt(Math.min(began, Date.now()) - lateEventMs),
    }
  }

  const offersProtocol = ({ headers }: IncomingMessage): boolean =>
    String(headers['sec-websocket-protocol'] ?? '')
      .split(',')
      .some((name) => name.trim() === liveProtocol)

  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const address = proxies.address(request)
    const session = await sessions.ofUpgrade(request, address)
    const refusal = sessionKeyRefusal(session, { ip: address })
    if (refusal) throw refusal
    if (!offersProtocol(request)) throw refusals.badProtocol(liveProtocol)
    const { after, since } = readQuery(request.url ?? '')
    if (!sockets.tryAcquire(session.id)) throw refusals.tooManySockets(sockets.used(session.id))
    socket.once('close', () => sockets.release(session.id))
    // Many sessions of one account must not take the sockets of others before they subscribe.
    const share = session.accounts[0]?.account.id ?? session.id
    if (!shares.tryAcquire(share)) throw refusals.tooManySockets(shares.used(share))
    socket.once('close', () => shares.release(share))
    server.handleUpgrade(request, socket, head, (browser) => {
      const id = uuid()
      const visitor: Visitor = { ip: address, id, headers: request.headers, recorded: new Set() }
      const page = startLiveSession({
        id,
        socket: browser,
        build: version,
        after: after ?? since ?? uuid(),
        now,
        subscribe: (account, topics, one) => subscribe(session, visitor, account, topics, one),
        watch: async (account, one) => {
          const end = await feed.watch(account, sinkOf(account, one))
          void feed.wake([account])
          return end
        },
        resume: (account, from) => resume(account, from, after !== null),
        narrow: ({ account, member }, events) => narrowEvents(db, { account, user: member?.user ?? null }, events),
        onPresence: board.report,
        onVisible: board.reportVisible,
        onError,
      })
      pages.set(page, { connectedAt: performance.now(), session, address })
      const signedOut = () => page.bye(4401, 'the session ended')
      const unwatch = sessions.watch(session, {
        onEnd: signedOut,
        onChange: () => page.bye(4403, 'the rights of the session changed'),
      })
      browser.on('close', () => {
        unwatch()
        board.change(page, null)
        pages.delete(page)
      })
      // The session may have ended while the request was admitted.
      sessions.reload(session.id).then((current) => (current ? undefined : signedOut()), onError)
    })
  }

  /** Sends heads, pings all pages and closes those that are gone. */
  const beat = async () => {
    for (const [page, { connectedAt, session, address }] of pages) {
      // A key may expire while its page is open.
      if (sessionKeyRefusal(session, { ip: address })) page.bye(4401, 'the key has expired')
      else if (page.subscription()) page.head()
      else if (performance.now() - connectedAt > subscribeWithinMs) page.close(1008, 'no subscription')
      page.ping()
    }
    counts.markAll()
    if (pages.size > 0) await board.deleteOld()
  }

  return {
    upgrade: { path: livePath, open },
    periodic: [
      {
        everyMs: pollMs,
        run: async () => void (await Promise.all([feed.size() > 0 ? feed.poll() : null, board.look()])),
      },
      { everyMs: countPollMs, run: counts.look },
      { everyMs: statePollMs, run: () => (pages.size > 0 ? state.poll() : Promise.resolve()) },
      { everyMs: headMs, run: beat },
    ],
    openSockets: () => pages.size,
    close: async () => {
      unsubscribe()
      for (const page of pages.keys()) {
        board.change(page, null)
        page.bye(1012, 'the server is restarting')
      }
      await board.settle()
    },
  }
}
