import type { LiveServerFrame } from '../../src/interfaces/live/contract.ts'

// Meaning of a frame for the place of the page in the event log. Pure, so that it is tested without a browser.

export type LiveEvent = Extract<LiveServerFrame, { type: 'event' }>

/** The last event of the log that the page has, and the ones before it that may arrive twice. */
export type Position = { readonly last: string | null; readonly recent: readonly string[] }

export const start: Position = { last: null, recent: [] }

/** Events whose repetition is recognised. A resumed line repeats those of the last ten seconds. */
const memory = 512

type ApplyResult = {
  readonly position: Position
  /** Not seen before. */
  readonly event: LiveEvent | null
  /** Events are missing: the page must ask again for what it shows. */
  readonly isBehind: boolean
}

/** Places a frame behind a position. */
export const apply = (position: Position, frame: LiveServerFrame): ApplyResult => {
  const unchanged = { position, event: null, isBehind: false }
  switch (frame.type) {
    case 'event': {
      // A change outside the log has no place in it, and comes once.
      if (!frame.logged) return { ...unchanged, event: frame }
      if (position.recent.includes(frame.id)) return unchanged
      const recent = [...position.recent, frame.id].slice(-memory)
      return { position: { last: frame.id, recent }, event: frame, isBehind: false }
    }
    case 'hello':
      return { ...unchanged, position: { ...position, last: position.last ?? frame.after } }
    case 'head':
      return frame.id === position.last
        ? unchanged
        : { ...unchanged, position: { ...position, last: frame.id }, isBehind: position.last !== null }
    case 'resync':
      return { ...unchanged, position: { last: frame.after, recent: [] }, isBehind: true }
    default:
      return unchanged
  }
}
