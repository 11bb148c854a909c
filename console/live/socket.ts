import { signal } from '@preact/signals'
import { markStale, refreshAll } from '../api/query.ts'
import { recovery } from '../api/send.ts'
import { apply, type Frame, type LiveEvent, type Position, start } from './apply.ts'
import { pollEvents } from './poll.ts'

// The line to the server: events of the account as they happen, resumed behind the last one after an interruption.

/** `off`: not needed. `polling`: a proxy refuses WebSockets, so the page asks every 2 s. */
export const line = signal<{
  readonly state: 'off' | 'connecting' | 'open' | 'lost' | 'polling'
  readonly since: number
}>({ state: 'off', since: Date.now() })

/** True once the server runs another build than the page. */
export const isOutdated = signal(false)

type FrameListener = (frame: Frame) => void

const silence = 25_000
const attemptsBeforePolling = 3

let socket: WebSocket | null = null
let position: Position = start
let account = ''
let topics = new Map<string, number>()
let failures = 0
let retry: ReturnType<typeof setTimeout> | undefined
let watchdog: ReturnType<typeof setTimeout> | undefined
let polling: AbortController | null = null
const eventListeners = new Set<(event: LiveEvent) => void>()
const frameListeners = new Set<FrameListener>()

const setLine = (state: (typeof line)['value']['state']): void => {
  if (line.value.state !== state) line.value = { state, since: Date.now() }
}

// Events of a burst mark their queries once.
const names = new Set<string>()
const mark = (name: string): void => {
  names.add(name)
  if (names.size > 1) return
  setTimeout(() => {
    for (const each of names) markStale(each)
    names.clear()
  }, 100)
}

const publish = (event: LiveEvent): void => {
  mark(event.name)
  for (const listener of eventListeners) listener(event)
}

const sendFrame = (frame: object): void => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
}

// At most 256 events may be unanswered; a burst is answered once.
let isAcknowledging = false
const acknowledge = (): void => {
  if (isAcknowledging) return
  isAcknowledging = true
  setTimeout(() => {
    isAcknowledging = false
    if (position.last) sendFrame({ type: 'ack', id: position.last })
  }, 100)
}

const subscribe = (): void => sendFrame({ type: 'subscribe', account, topics: [...topics.keys()] })

const onFrame = (frame: Frame): void => {
  const next = apply(position, frame)
  position = next.position
  if (frame.type === 'hello') {
    isOutdated.value = frame.build !== undefined && frame.build !== document.documentElement.dataset.build
    subscribe()
  }
  if (next.event) {
    publish(next.event)
    acknowledge()
  }
  if (next.isBehind) refreshAll()
  // Over the page, so that what was typed stays.
  if (frame.type === 'bye' && frame.code === 4401) void recovery.signIn()
  for (const listener of frameListeners) listener(frame)
}

const isAlive = (): void => {
  clearTimeout(watchdog)
  watchdog = setTimeout(() => socket?.close(), silence)
}

const pause = (): number => Math.min(10_000, 250 * 2 ** failures) * (0.75 + Math.random() / 2)

const stopPolling = (): void => {
  polling?.abort()
  polling = null
}

const startPolling = (): void => {
  if (polling) return
  polling = new AbortController()
  void pollEvents(
    () => position.last,
    polling.signal,
    (event) => {
      setLine('polling')
      onFrame({ type: 'event', ...event })
    },
  )
}

const connect = (): void => {
  clearTimeout(retry)
  if (!account || socket) return
  if (line.value.state !== 'lost' && line.value.state !== 'polling') setLine('connecting')
  const address = new URL('/console/live', location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  if (position.last) address.searchParams.set('after', position.last)
  const current = new WebSocket(address, 'trunkline.console.1')
  socket = current
  let hasOpened = false
  isAlive()
  current.addEventListener('open', () => {
    hasOpened = true
    failures = 0
    stopPolling()
    setLine('open')
  })
  current.addEventListener('message', ({ data }) => {
    isAlive()
    onFrame(JSON.parse(String(data)) as Frame)
  })
  current.addEventListener('close', ({ code }) => {
    if (socket !== current) return
    socket = null
    clearTimeout(watchdog)
    if (!account) return
    failures = hasOpened ? 1 : failures + 1
    if (line.value.state !== 'polling') setLine('lost')
    if (code === 4403) refreshAll()
    if (failures >= attemptsBeforePolling) startPolling()
    retry = setTimeout(connect, pause())
  })
}

const hurry = (): void => {
  if (document.visibilityState !== 'visible' || !account) return
  failures = Math.min(failures, 1)
  if (socket?.readyState === WebSocket.OPEN) sendFrame({ type: 'ack', id: position.last })
  else connect()
}

/** Opens the line for an account. Without live service on the server the page stays as it is. */
export const followAccount = (uuid: string): void => {
  if (uuid === account) return
  account = uuid
  position = start
  clearTimeout(retry)
  stopPolling()
  const old = socket
  socket = null
  old?.close()
  if (uuid && document.documentElement.dataset.live === 'true') connect()
  else setLine('off')
}

/** Listens to events of the account. Returns the function that ends it. */
export const onEvent = (listener: (event: LiveEvent) => void): (() => void) => {
  eventListeners.add(listener)
  return () => eventListeners.delete(listener)
}

/** Listens to all frames, such as presence and counts. */
export const onLiveFrame = (listener: FrameListener): (() => void) => {
  frameListeners.add(listener)
  return () => frameListeners.delete(listener)
}

/** Subscribes to a topic, such as `inbox` or `webhook:WHK…`, until the returned function is called. */
export const followTopic = (topic: string): (() => void) => {
  topics.set(topic, (topics.get(topic) ?? 0) + 1)
  subscribe()
  return () => {
    const count = (topics.get(topic) ?? 1) - 1
    if (count > 0) topics.set(topic, count)
    else topics = new Map([...topics].filter(([name]) => name !== topic))
    subscribe()
  }
}

/** Reports what the person does in a conversation. */
export const reportPresence = (conversation: string, doing: 'viewing' | 'typing' | null): void =>
  sendFrame({ type: 'presence', conversation, doing })

addEventListener('online', hurry)
document.addEventListener('visibilitychange', hurry)
