// What a frame means for the place of the page in the event log. Pure, so that it is tested without a browser.

export type LiveEvent = {
  readonly id: string
  readonly name: string
  readonly at?: string
  readonly data?: unknown
}

/** Frames of the server, design 7.2. */
export type Frame =
  | { readonly type: 'hello'; readonly after?: string; readonly build?: string; readonly now?: string }
  | ({ readonly type: 'event' } & LiveEvent)
  | {
      readonly type: 'presence'
      readonly conversation: string
      readonly people: readonly { readonly user_uuid?: string; readonly name: string; readonly doing: string }[]
    }
  | { readonly type: 'counts'; readonly views: Readonly<Record<string, unknown>> }
  | { readonly type: 'head'; readonly id: string | null; readonly now?: string }
  | { readonly type: 'resync'; readonly reason?: string }
  | { readonly type: 'bye'; readonly code: number }

/** The last event that the page has seen, and the ones before it that may arrive twice. */
export type Position = { readonly last: string | null; readonly recent: readonly string[] }

export const start: Position = { last: null, recent: [] }

/** Events whose repetition is recognised. A resumed line repeats at most this number. */
const memory = 512

type ApplyResult = {
  readonly position: Position
  /** Not seen before. */
  readonly event: LiveEvent | null
  /** Events are missing: the page must ask again for what it shows. */
  readonly isBehind: boolean
}

/** Places a frame behind a position. */
export const apply = (position: Position, frame: Frame): ApplyResult => {
  if (frame.type === 'event') {
    if (position.recent.includes(frame.id)) return { position, event: null, isBehind: false }
    const { type: _, ...event } = frame
    return {
      position: { last: frame.id, recent: [...position.recent, frame.id].slice(-memory) },
      event,
      isBehind: false,
    }
  }
  if (frame.type === 'hello')
    return { position: { ...position, last: position.last ?? frame.after ?? null }, event: null, isBehind: false }
  if (frame.type === 'head' && frame.id !== null && frame.id !== position.last)
    return { position: { ...position, last: frame.id }, event: null, isBehind: position.last !== null }
  return { position, event: null, isBehind: frame.type === 'resync' }
}
