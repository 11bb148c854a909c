import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { LiveCounts, LivePerson } from '../../src/interfaces/live/contract.ts'
import { followTopic } from './live-topics.ts'
import { line, onLiveFrame, sendLiveFrame } from './socket.ts'

// People who view and write in the same conversation, and the counts of the sidebar. Both come over the line, and are
// never in the event log.

export type PresenceState = 'viewing' | 'typing'

/** Milliseconds between reports. The server forgets a presence after 12 s. */
const repeatEvery = 5_000
/** Milliseconds after the last announcement of typing until the person counts as viewing. */
const typingLasts = 6_000

const noPeople: readonly LivePerson[] = []
const people = signal<ReadonlyMap<string, readonly LivePerson[]>>(new Map())
const counts = signal<LiveCounts | null>(null)

/** The conversation of this page, and what the person does there. A page has one conversation at a time. */
let own: { readonly conversation: string; state: PresenceState; typedAt: number } | null = null
let repeat: ReturnType<typeof setInterval> | undefined
let endTopic: (() => void) | undefined

const report = (): void => {
  if (!own || document.visibilityState !== 'visible') return
  if (own.state === 'typing' && Date.now() - own.typedAt > typingLasts) own.state = 'viewing'
  sendLiveFrame({ type: 'presence', conversation: own.conversation, state: own.state })
}

const leave = (): void => {
  if (own) sendLiveFrame({ type: 'presence', conversation: own.conversation, state: null })
}

const stop = (): void => {
  leave()
  own = null
  clearInterval(repeat)
  endTopic?.()
  endTopic = undefined
}

/**
 * Announces what the person does in a conversation, until it is called with null or for another one. Call it with
 * `typing` at each key: without a further call the person counts as viewing after 6 s. A hidden page announces nothing.
 */
export const announcePresence = (conversation: string, state: PresenceState | null): void => {
  if (state === null) {
    if (own?.conversation === conversation) stop()
    return
  }
  if (own?.conversation !== conversation) {
    stop()
    // The file is loaded already, unless the line is slow.
    void import('./attention.ts').then(({ closeNotification }) => closeNotification(conversation)).catch(() => {})
    own = { conversation, state, typedAt: Date.now() }
    endTopic = followTopic(`conversation:${conversation}` as `conversation:CNV${string}`)
    repeat = setInterval(report, repeatEvery)
  } else {
    own.typedAt = Date.now()
    if (own.state === state) return
    own.state = state
  }
  report()
}

/** Returns the other people in a conversation, those who write first. */
export const usePresence = (conversation: string): readonly LivePerson[] => {
  useEffect(
    () => (conversation ? followTopic(`conversation:${conversation}` as `conversation:CNV${string}`) : undefined),
    [conversation],
  )
  return people.value.get(conversation) ?? noPeople
}

/** Returns the conversations in each view, by its name or id. Null until the server has sent them. */
export const useCounts = (): LiveCounts | null => {
  useEffect(() => followTopic('inbox'), [])
  return counts.value
}

onLiveFrame((frame) => {
  // The server knows the conversation of a presence once its topic is confirmed.
  if (frame.type === 'subscribed') report()
  if (frame.type === 'counts') counts.value = frame.views
  if (frame.type !== 'presence') return
  const next = new Map(people.value)
  if (frame.people.length > 0) next.set(frame.conversation, frame.people)
  else next.delete(frame.conversation)
  people.value = next
})

// Without a line, who is there is not known. Another account has other counts.
effect(() => {
  const { state } = line.value
  if (state !== 'open') people.value = new Map()
  if (state === 'off') counts.value = null
})
document.addEventListener('visibilitychange', () => (document.visibilityState === 'visible' ? report() : leave()))
