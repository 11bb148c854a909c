import type { WebSocket } from 'ws'
import type { Contents } from '../../domains/inbox/narrowing/ops.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { type LiveServerFrame, type LiveTopic, maxUnansweredEvents } from './contract.ts'
import { eventFrame, frameText, parsePageFrame } from './frames.ts'
import {
  maxBufferedBytes,
  maxPendingChanges,
  maxQueuedEvents,
  maxResumedEvents,
  maxTopics,
  maxUnreadBytes,
  resumePageSize,
} from './limits.ts'
import { type FeedEvent, topicsOf } from './topics.ts'

/** The member whose page a socket is. Ids have no prefix. */
export type LiveMember = { readonly user: string; readonly person: string }

/** The topics that a page may follow, as they were checked. */
export type Subscription = {
  readonly account: string
  readonly topics: ReadonlySet<LiveTopic>
  /** Null for a key, and for an operator who is no member. */
  readonly member: LiveMember | null
  /** True if the page may see only conversations of its member, and those without an assignee. */
  readonly isNarrowed: boolean
  /** Contents that the page may see of deliveries, which are of all conversations. */
  readonly contents: Contents
}

/** Reads events in order, each once. */
export type ResumeReader = { next(limit: number): Promise<readonly FeedEvent[]> }

export type LiveSessionDeps = {
  readonly id: string
  readonly socket: WebSocket
  readonly build: string
  /** The page has the events up to this id. */
  readonly after: string
  readonly now: () => string
  /** Checks what a page asks for; refused topics are reported by `send`. Null if nothing is left. */
  readonly subscribe: (account: string, topics: readonly string[], session: LiveSession) => Promise<Subscription | null>
  /** Watches the account of a subscription. @returns the function that ends the watch */
  readonly watch: (account: string, session: LiveSession) => Promise<() => void>
  /** Reads what the page missed. Null: its last event is older than the log. */
  readonly resume: (account: string, after: string) => ResumeReader | null
  /** Returns the events that a narrowed page may see. */
  readonly narrow: (subscription: Subscription, events: readonly FeedEvent[]) => Promise<readonly FeedEvent[]>
  readonly onPresence: (session: LiveSession, conversation: string, state: 'viewing' | 'typing' | null) => void
  /** The page is visible, or was until now. */
  readonly onVisible: (session: LiveSession) => void
  readonly onError: (error: unknown) => void
}

/** The socket of one page. */
export type LiveSession = {
  readonly id: string
  /** Sends an event of the log when the page follows it and keeps up. */
  receive(event: FeedEvent): void
  /** Sends a change without an event, if the page follows one of its topics. */
  notify(name: string, topics: readonly LiveTopic[], id: string, data: object): void
  send(frame: LiveServerFrame): void
  head(): void
  /** Pings the page; closes the connection if the previous ping was not answered. */
  ping(): void
  /** Sends the last frame, and closes. */
  bye(code: 4401 | 4403 | 1012, reason: string): void
  close(code: number, reason: string): void
  subscription(): Subscription | null
  member(): LiveMember | null
  /** Checks the topics of the page again: what it may follow has changed. */
  recheck(): void
}

export const startLiveSession = (deps: LiveSessionDeps): LiveSession => {
  const { socket, now, onError } = deps
  let subscription: Subscription | null = null
  let endWatch: (() => void) | null = null
  /** Changes of the subscription run one after the other. */
  let changing = Promise.resolve()
  let pendingChanges = 0
  /** The last event of the log that was sent, or that the page had. */
  let last = deps.after
  const unanswered: string[] = []
  let queue: FeedEvent[] = []
  /** True while missed events are sent: later ones wait in the queue. */
  let isResuming = false
  /** Missed events that were sent. The feed may hand them over once more. */
  let resent = new Set<string>()
  /** Continuations of work that waits until the page has room. */
  let waiting: (() => void)[] = []
  /** Events of a narrowed page that are not checked yet. */
  let toNarrow: FeedEvent[] = []
  let isNarrowing = false
  let isAlive = true
  let isVisible = false
  /** The topics that the page asked for last. */
  let wanted: { readonly account: string; readonly topics: readonly string[] } | null = null
  let isOver = false

  const isOpen = () => !isOver && socket.readyState === socket.OPEN
  const send = (frame: LiveServerFrame) => {
    if (!isOpen()) return
    // Replies to a page that asks and does not read would fill the memory. Events wait long before: hasRoom.
    if (socket.bufferedAmount > maxUnreadBytes) return socket.terminate()
    socket.send(frameText(frame))
  }
  const follows = (topics: readonly LiveTopic[]) => topics.some((topic) => subscription?.topics.has(topic))
  const hasRoom = () => unanswered.length < maxUnansweredEvents && socket.bufferedAmount <= maxBufferedBytes

  const sendEvent = (event: FeedEvent) => {
    socket.send(eventFrame(event))
    unanswered.push(event.id)
    if (event.id > last) last = event.id
  }

  const flush = () => {
    while (!isResuming && queue.length > 0 && isOpen() && hasRoom()) {
      const event = queue.shift()
      if (event) sendEvent(event)
    }
  }

  const whenRoom = async () => {
    while (isOpen() && !hasRoom()) await new Promise<void>((resolve) => void waiting.push(resolve))
  }

  const proceed = () => {
    const continuations = waiting
    waiting = []
    for (const one of continuations) one()
    flush()
  }

  /** Gives up the events that wait: the page loads again what it shows. */
  const resync = (reason: 'too_far_behind' | 'expired', after: string) => {
    queue = []
    last = after
    send({ type: 'resync', reason, after: print('EVT', after) })
  }

  const accept = (event: FeedEvent) => {
    if (!isOpen() || !follows(topicsOf(event)) || resent.delete(event.id)) return
    queue.push(event)
    if (queue.length > maxQueuedEvents) resync('too_far_behind', event.id)
    flush()
  }

  /** Hands over the events that a narrowed page may see, in their order. */
  const narrowNext = async () => {
    while (toNarrow.length > 0 && subscription) {
      const [events, current] = [toNarrow, subscription]
      toNarrow = []
      for (const event of await deps.narrow(current, events)) if (subscription === current) accept(event)
      // An assignment may have ended, or begun, the right to follow a conversation.
      if (events.some(({ name }) => name === 'conversation.assigned')) session.recheck()
    }
  }

  const receive = (event: FeedEvent) => {
    if (!subscription?.isNarrowed) return accept(event)
    toNarrow.push(event)
    if (toNarrow.length > maxQueuedEvents) {
      toNarrow = []
      resync('too_far_behind', event.id)
    }
    if (isNarrowing) return
    isNarrowing = true
    narrowNext()
      .catch((error: unknown) => {
        onError(error)
        end(1011, 'reading failed')
      })
      .finally(() => {
        isNarrowing = false
      })
  }

  /** Sends the events that the page missed. */
  const catchUp = async (next: Subscription) => {
    const reader = deps.resume(next.account, last)
    if (reader === null) return resync('expired', uuid())
    for (let count = 0; isOpen(); ) {
      const events = await reader.next(resumePageSize)
      count += events.length
      if (count > maxResumedEvents) return resync('too_far_behind', uuid())
      for (const event of next.isNarrowed ? await deps.narrow(next, events) : events) {
        if (!follows(topicsOf(event))) continue
        await whenRoom()
        if (!isOpen()) return
        resent.add(event.id)
        sendEvent(event)
      }
      if (events.length < resumePageSize) return
    }
  }

  const confirm = ({ account, topics }: Subscription) =>
    send({ type: 'subscribed', account: print('ACC', account), topics: [...topics] })

  const unwatch = () => {
    endWatch?.()
    endWatch = null
    queue = []
    toNarrow = []
    resent = new Set()
  }

  const begin = async (next: Subscription, isFirst: boolean) => {
    isResuming = true
    try {
      endWatch = await deps.watch(next.account, session)
      confirm(next)
      // Events of one account are no position in the log of another.
      if (isFirst) await catchUp(next)
      queue = queue.filter(({ id }) => !resent.delete(id))
    } finally {
      isResuming = false
    }
    if (!isOpen()) unwatch()
    flush()
  }

  const change = async (account: string, topics: readonly string[]) => {
    const before = subscription
    const next = await deps.subscribe(account, topics, session)
    if (!isOpen()) return
    subscription = next
    if (next && before?.account === next.account) return confirm(next)
    unwatch()
    if (next) await begin(next, before === null)
  }

  const head = () => send({ type: 'head', id: print('EVT', last), now: now() })

  const acknowledge = (printed: string) => {
    const at = unanswered.indexOf(parse('EVT', printed) ?? '')
    if (at === -1) return
    unanswered.splice(0, at + 1)
    proceed()
  }

  const end = (code: number, reason: string) => {
    if (isOver) return
    isOver = true
    socket.close(code, reason)
  }

  const enqueueChange = (account: string, topics: readonly string[]) => {
    pendingChanges++
    changing = changing
      .then(() => change(account, topics))
      .catch((error: unknown) => {
        onError(error)
        end(1011, 'subscribing failed')
      })
      .finally(() => {
        pendingChanges--
      })
  }

  const see = (visible: boolean) => {
    if (visible || isVisible) deps.onVisible(session)
    isVisible = visible
  }

  socket.on('message', (data, isBinary) => {
    const frame = isBinary ? null : parsePageFrame(String(data))
    if (frame === null) return end(1003, 'expected a frame of the subprotocol')
    if (frame.type === 'ping') return head()
    if (frame.type === 'ack') return acknowledge(frame.id)
    if (frame.type === 'visibility') return see(frame.visible)
    if (frame.type === 'presence') {
      const conversation = parse('CNV', frame.conversation)
      return conversation ? deps.onPresence(session, conversation, frame.state) : undefined
    }
    const { account, topics } = frame
    if (topics.length > maxTopics || pendingChanges >= maxPendingChanges) return end(1008, 'too many topics')
    wanted = { account, topics }
    enqueueChange(account, topics)
  })
  socket.on('pong', () => {
    isAlive = true
    proceed()
  })
  socket.on('close', () => {
    isOver = true
    unwatch()
    proceed()
  })
  // For an invalid or overlong frame, ws closes the connection itself.
  socket.on('error', () => {})

  const session: LiveSession = {
    id: deps.id,
    receive,
    notify: (name, topics, id, data) => {
      if (!isOpen() || !follows(topics) || socket.bufferedAmount > maxBufferedBytes) return
      send({ type: 'event', id, name, at: now(), topics, data: { ...data }, logged: false })
    },
    send,
    head,
    ping: () => {
      if (!isAlive) return socket.terminate()
      isAlive = false
      socket.ping()
    },
    bye: (code, reason) => {
      send({ type: 'bye', code, reason })
      end(code, reason)
    },
    close: end,
    subscription: () => subscription,
    member: () => subscription?.member ?? null,
    recheck: () => {
      // A check that waits sees the change, too.
      if (wanted && pendingChanges < 2) enqueueChange(wanted.account, wanted.topics)
    },
  }
  send({ type: 'hello', after: print('EVT', deps.after), build: deps.build, now: now() })
  return session
}
