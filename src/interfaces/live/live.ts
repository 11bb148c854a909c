import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { onRecorded } from '../../domains/events/ops.ts'
import type { Db } from '../../platform/db/sql.ts'
import { sessionKeyRefusal } from '../../platform/http/authenticate-session.ts'
import type { Session } from '../../platform/http/session.ts'
import type { Upgrade } from '../../platform/http/upgrade.ts'
import { makeFairLimiter } from '../../platform/lib/fair-limiter.ts'
import { timeOf, uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { makeResumeReader } from '../tunnel/ops.ts'
import { makeAdmission } from './admission.ts'
import { livePath, liveProtocol } from './contract.ts'
import { makeCountFeed } from './count-feed.ts'
import { makeEventFeed } from './event-feed.ts'
import {
  countPollMs,
  extraEventDays,
  headMs,
  maxFrameBytes,
  pollMs,
  resumeLimits,
  statePollMs,
  subscribeWithinMs,
} from './limits.ts'
import { LiveSession, type ResumeReader } from './live-session.ts'
import { narrowEvents } from './narrowed-events.ts'
import { makeNarrowingWatch } from './narrowing-watch.ts'
import { makePresenceBoard } from './presence-board.ts'
import { makeStateFeed } from './state-feed.ts'
import { makeSubscriber, type Visitor } from './subscriber.ts'

/** Keeps pages of the console current. */
export type Live = {
  readonly upgrade: Upgrade
  /** Repeated work while pages are connected, with the milliseconds between its runs. */
  readonly periodic: readonly { readonly everyMs: number; run(): Promise<void> }[]
  /** Calls `effect` when the first page connects and when the last one is gone. */
  onOccupied(effect: (isOccupied: boolean) => void): void
  /** Number of open sockets. */
  openSockets(): number
  close(): Promise<void>
}

const serverOptions = {
  noServer: true,
  maxPayload: maxFrameBytes,
  perMessageDeflate: false,
  handleProtocols: () => liveProtocol,
}

/** A page, and when it connected: milliseconds of `performance.now()`. */
type Page = { readonly connectedAt: number; readonly session: Session; readonly address: string }

/** Makes the function that reads what a page missed; null if its last event may be deleted already. */
const makeResume = (db: Db, retentionMs: number) => {
  const resumes = makeFairLimiter(resumeLimits)
  return (account: string, after: string, isResumed: boolean): ResumeReader | null => {
    if (timeOf(after) < Date.now() - retentionMs) return null
    const reader = makeResumeReader(db, account, after, isResumed)
    return { next: (limit) => resumes.run(account, () => reader.next(limit)) }
  }
}

/** Sends a head and a ping to a page. Closes it if its key expired, or if it follows nothing. */
const checkPage = (page: LiveSession, { connectedAt, session, address }: Page): void => {
  // A key may expire while its page is open.
  if (sessionKeyRefusal(session, { ip: address })) page.bye(4401, 'the key has expired')
  else if (page.subscription()) page.head()
  else if (performance.now() - connectedAt > subscribeWithinMs) page.close(1008, 'no subscription')
  page.ping()
}

export const makeLive = (services: Services): Live => {
  const { db, sessions, changes, log, config, clock, version } = services
  const server = new WebSocketServer(serverOptions)
  const pages = new Map<LiveSession, Page>()
  let occupied: (isOccupied: boolean) => void = () => {}
  const onError = (error: unknown) => log.warn({ err: error }, 'live: failed to read')
  const feed = makeEventFeed(db, onError)
  const openPages = () => [...pages.keys()]
  const state = makeStateFeed(db, openPages)
  const board = makePresenceBoard(db, openPages, onError)
  const counts = makeCountFeed(db, openPages)
  const narrowing = makeNarrowingWatch(db, openPages)
  const subscribe = makeSubscriber({ db, sessions, openPages, narrowing })
  const admit = makeAdmission(services)
  const resume = makeResume(db, (config.deliveryDays + extraEventDays) * 86_400_000)

  const unsubscribe = onRecorded((_webhooks, accounts) => void feed.wake(accounts))
  changes.on('users', () => void state.compareTeams().catch(onError))
  changes.on('accounts', () => void narrowing.check().catch(onError))

  const now = () => new Date(clock.now()).toISOString()

  const open = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { session, address, after } = await admit(request, socket)
    server.handleUpgrade(request, socket, head, (browser) => {
      const id = uuid()
      const visitor: Visitor = { ip: address, id, headers: request.headers, recorded: new Set() }
      const page = new LiveSession({
        id,
        socket: browser,
        build: version,
        after: after.id,
        isResumed: after.isEvent,
        now,
        subscribe: async (account, topics, subscriber) => {
          const next = await subscribe({ session, visitor, page: subscriber }, account, topics)
          if (next) board.change(subscriber, next)
          return next
        },
        watch: async (account, watcher) => {
          const end = await feed.watch(account, {
            receive: (event) => {
              if (event.name.startsWith('conversation.')) counts.mark(account)
              watcher.receive(event)
            },
          })
          void feed.wake([account])
          return end
        },
        resume: (account, from) => resume(account, from, after.isEvent),
        narrow: ({ account, member }, events) => narrowEvents(db, { account, user: member?.user ?? null }, events),
        onPresence: board.report,
        onVisible: board.reportVisible,
        onError,
      })
      pages.set(page, { connectedAt: performance.now(), session, address })
      if (pages.size === 1) occupied(true)
      const signedOut = () => page.bye(4401, 'the session ended')
      const unwatch = sessions.watch(session, {
        onEnd: signedOut,
        onChange: () => page.bye(4403, 'the rights of the session changed'),
      })
      browser.on('close', () => {
        unwatch()
        board.change(page, null)
        if (pages.delete(page) && pages.size === 0) occupied(false)
      })
      // The session may have ended while the request was admitted.
      sessions.reload(session.id).then((current) => (current ? undefined : signedOut()), onError)
    })
  }

  const beat = async () => {
    for (const [page, connection] of pages) checkPage(page, connection)
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
    onOccupied: (effect) => {
      occupied = effect
    },
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
