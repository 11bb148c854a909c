import { iso } from '../../platform/lib/clock.ts'
import { print, timeOf } from '../../platform/lib/id.ts'
import type { LivePageFrame, LiveServerFrame } from './contract.ts'
import { type FeedEvent, topicsOf } from './topics.ts'

/** A frame of a page, parsed. Its topics are not checked yet. */
type PageFrame =
  | { readonly type: 'subscribe'; readonly account: string; readonly topics: readonly string[] }
  | Exclude<LivePageFrame, { readonly type: 'subscribe' }>

const presenceOf = (frame: object): PageFrame | null => {
  if (!('conversation' in frame) || !('state' in frame)) return null
  const { conversation, state } = frame
  const isState = state === null || state === 'viewing' || state === 'typing'
  return typeof conversation === 'string' && isState ? { type: 'presence', conversation, state } : null
}

/** Parses a frame of a page; null for any other text. */
export const parsePageFrame = (text: string): PageFrame | null => {
  try {
    const frame: unknown = JSON.parse(text)
    if (typeof frame !== 'object' || frame === null || !('type' in frame)) return null
    if (frame.type === 'ping') return { type: 'ping' }
    if (frame.type === 'visibility')
      return 'visible' in frame && typeof frame.visible === 'boolean'
        ? { type: 'visibility', visible: frame.visible }
        : null
    if (frame.type === 'presence') return presenceOf(frame)
    if (frame.type === 'ack')
      return 'id' in frame && typeof frame.id === 'string' ? { type: 'ack', id: frame.id } : null
    if (frame.type !== 'subscribe' || !('account' in frame) || !('topics' in frame)) return null
    const { account, topics } = frame
    return typeof account === 'string' && Array.isArray(topics) && topics.every((one) => typeof one === 'string')
      ? { type: 'subscribe', account, topics }
      : null
  } catch {
    return null
  }
}

/**
 * Returns the frame of an event of the log. The payload is JSON already, and is not parsed.
 * @param isEarlier it happened before the page followed its topic
 */
export const eventFrame = (event: FeedEvent, isEarlier = false): string => {
  const { id, name, payload } = event
  const earlier = isEarlier ? { earlier: true } : {}
  const topics = topicsOf(event)
  const head = { type: 'event', id: print('EVT', id), name, at: iso(timeOf(id)), topics, logged: true, ...earlier }
  return `${JSON.stringify(head).slice(0, -1)},"data":${payload}}`
}

/** Returns the text of any other frame. */
export const frameText = (frame: LiveServerFrame): string => JSON.stringify(frame)
