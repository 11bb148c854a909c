import type { IqResult } from './iq-requests.ts'
import type { XmlElement } from './xml.ts'

/** Outcome of a message: `lost` when the server may or may not have it, `unsent` when it was never sent. */
export type Delivery = 'accepted' | 'lost' | 'unsent'

/** Access of one number to the server, over its own login or the shared link. */
export type Wire = {
  /** Our bare address. */
  readonly self: string
  readonly isUp: boolean
  /** @returns false while the link is down */
  send(stanza: XmlElement): boolean
  /** Default timeout: 10 s. */
  request(iq: XmlElement, milliseconds?: number): Promise<IqResult>
  /** Sends a message and waits until the server has accepted it. */
  deliver(message: XmlElement): Promise<Delivery>
  /** Round trip to the server within 4 s (XEP-0199); numbers on a shared link share the ping. */
  ping(): Promise<boolean>
}

/** Waits between attempts to connect. */
export type BackOff = {
  /** Returns the milliseconds to wait after one more failure. */
  next(): number
  /** Resets the wait once a connection has lasted. */
  reset(): void
}

export const requestTimeoutMs = 10_000
export const pingTimeoutMs = 4_000
