import { effect, signal } from '@preact/signals'
import type { LivePageFrame, LiveServerFrame } from '../../src/interfaces/live/contract.ts'
import { markStale, refreshAll, refreshFailed } from '../api/query.ts'
import { recovery, requestContext } from '../api/send.ts'
import { followed } from './live-topics.ts'
import { apply, type LiveEvent, type Position, start } from './log-position.ts'
import { pollEvents } from './poll.ts'

// The line to the server: events of the account as they happen, resumed behind the last one after an interruption.

type LineState = 'off' | 'connecting' | 'open' | 'lost' | 'polling'

/** `off`: not needed. `polling`: a proxy refuses WebSockets, so the page asks every 2 s. */
export const line = signal<{ readonly state: LineState; readonly since: number }>({ state: 'off', since: Date.now() })

/** Version of the server, as the line says it. Empty before the first line. */
export const serverVersion = signal('')

/** Milliseconds of silence after which the line is taken for dead. The server sends a head every 15 s. */
const silence = 25_000
/** Milliseconds that the answer to a ping may take. */
const answerTime = 1_500
const attemptsBeforePolling = 3

let socket: WebSocket | null = null
let position: Position = start
let account = ''
/** A time of the server before the page read anything of the account. The first line tells of events since then. */
let serverTime = ''
let failures = 0
/** Whether the account has had a line before. */
let hasGreeted = false
let retry: ReturnType<typeof setTimeout> | undefined
let watchdog: ReturnType<typeof setTimeout> | undefined
let polling: AbortController | null = null
const eventListeners = new Set<(event: LiveEvent) => void>()
const frameListeners = new Set<(frame: LiveServerFrame) => void>()

const setLine = (state: LineState): void => {
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

/** Sends a frame, if the line is open. */
export const sendLiveFrame = (frame: LivePageFrame): void => {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
}

// At most 256 events may be unanswered, repeated ones too; a burst is answered once.
let unanswered = ''
const acknowledge = (id: string): void => {
  if (!unanswered)
    setTimeout(() => {
      sendLiveFrame({ type: 'ack', id: unanswered })
      unanswered = ''
    }, 100)
  unanswered = id
}

const subscribe = (): void => sendLiveFrame({ type: 'subscribe', account: account, topics: followed.value })

/** Over the page, so that what was typed stays. The line comes back with the session. */
const signInAgain = async (): Promise<void> => {
  const current = account
  followAccount('')
  if (await recovery.signIn()) followAccount(current)
}

const onFrame = (frame: LiveServerFrame): void => {
  const next = apply(position, frame)
  position = next.position
  if (frame.type === 'hello') {
    serverVersion.value = frame.build
    subscribe()
    // The log tells of everything that was missed, except of these.
    if (hasGreeted) for (const name of ['balance.changed', 'member.changed', 'webhook.delivery']) mark(name)
    if (hasGreeted) refreshFailed()
    hasGreeted = true
  }
  if (next.event) {
    mark(next.event.name)
    for (const listener of eventListeners) listener(next.event)
  }
  if (frame.type === 'event' && frame.logged) acknowledge(frame.id)
  if (frame.type === 'head') serverTime = frame.now
  if (next.isBehind) refreshAll()
  if (frame.type === 'bye' && frame.code === 4401) void signInAgain()
  for (const listener of frameListeners) listener(frame)
}

const isAlive = (): void => {
  clearTimeout(watchdog)
  watchdog = setTimeout(() => socket?.close(), silence)
}

/** Whether the last request reached the server. */
let isReached = true
/** When a line was wanted at once, after sleep or a cut. Its end may be reported afterwards. */
let hurriedAt = Number.NEGATIVE_INFINITY

/** Milliseconds before the next attempt. */
const pause = (): number => {
  if (failures === 0 && performance.now() - hurriedAt < 5_000) return 0
  return Math.min(10_000, 250 * 2 ** failures) * (0.75 + Math.random() / 2)
}

const stopPolling = (): void => {
  polling?.abort()
  polling = null
}

const startPolling = (): void => {
  if (polling) return
  polling = new AbortController()
  void pollEvents(() => position.recent.at(-1) ?? null, polling.signal, onFrame, refreshAll)
}

const connect = (): void => {
  clearTimeout(retry)
  if (!account || socket) return
  if (line.value.state === 'off') setLine('connecting')
  const address = new URL('/console/live', location.href)
  address.protocol = address.protocol.replace('http', 'ws')
  if (position.last) address.searchParams.set('after', position.last)
  else if (serverTime) address.searchParams.set('since', serverTime)
  const current = new WebSocket(address, 'trunkline.console.1')
  socket = current
  let hasOpened = false
  isAlive()
  current.addEventListener('open', () => {
    if (socket !== current) return
    hasOpened = true
    failures = 0
    stopPolling()
    setLine('open')
  })
  current.addEventListener('message', ({ data }) => {
    if (socket !== current) return
    isAlive()
    // The server's contract has these frames.
    onFrame(JSON.parse(String(data)) as LiveServerFrame)
  })
  current.addEventListener('close', () => {
    if (socket !== current) return
    socket = null
    clearTimeout(watchdog)
    failures = hasOpened ? 0 : failures + 1
    if (line.value.state !== 'polling') setLine('lost')
    if (failures >= attemptsBeforePolling) startPolling()
    // After many failures Chromium delays each WebSocket by up to 5 s. So the poll finds out when the server is back.
    if (!polling || isReached) retry = setTimeout(connect, pause())
  })
}

/** Gives the line up for a new one, without waiting for the other side. */
const renew = (): void => {
  const old = socket
  socket = null
  old?.close()
  setLine('lost')
  connect()
}

/** Brings the line back at once, or asks whether it has all events. After sleep it may be dead without a word. */
const hurry = (): void => {
  if (document.visibilityState !== 'visible' || !account) return
  hurriedAt = performance.now()
  if (socket?.readyState !== WebSocket.OPEN) {
    // A line that broke while the page slept: its end is not told yet.
    if (socket && socket.readyState > WebSocket.OPEN) renew()
    else connect()
    return
  }
  sendLiveFrame({ type: 'ping' })
  clearTimeout(watchdog)
  watchdog = setTimeout(renew, answerTime)
}

/**
 * Opens the line for an account; closes it for an empty one.
 * @param since a time of the server before the page read anything of the account
 */
export const followAccount = (uuid: string, since = ''): void => {
  if (uuid === account) return
  if (since && !(Date.parse(since) < Date.parse(serverTime))) serverTime = since
  account = uuid
  position = start
  hasGreeted = false
  failures = 0
  clearTimeout(retry)
  clearTimeout(watchdog)
  stopPolling()
  const old = socket
  socket = null
  old?.close()
  if (uuid) connect()
  else setLine('off')
}

/** Listens to events of the account. Returns the function that ends it. */
export const onEvent = (listener: (event: LiveEvent) => void): (() => void) => {
  eventListeners.add(listener)
  return () => eventListeners.delete(listener)
}

/** Listens to all frames, such as presence. Returns the function that ends it. */
export const onLiveFrame = (listener: (frame: LiveServerFrame) => void): (() => void) => {
  frameListeners.add(listener)
  return () => frameListeners.delete(listener)
}

/** The server answers again: the line need not wait for its next attempt. */
requestContext.onReached = (isNow) => {
  const isBack = isNow && !isReached
  isReached = isNow
  if (polling) setLine(isNow ? 'polling' : 'lost')
  if (isBack && !socket) connect()
}

effect(subscribe)
addEventListener('online', hurry)
document.addEventListener('visibilitychange', hurry)
document.addEventListener('resume', hurry)
