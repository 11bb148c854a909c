import type { Xml } from './codec/xml.ts'
import type { Answer } from './requests.ts'

/** What became of a message: `lost` when the server may or may not have it, `unsent` when it never went out. */
export type Delivery = 'accepted' | 'lost' | 'unsent'

/** A line's way to the server, whether it is its own login or one link for all. */
export type Wire = {
  /** Our bare address. */
  readonly self: string
  readonly isUp: boolean
  /** @returns false while the link is down */
  send(stanza: Xml): boolean
  /** Waits 10 s unless told. */
  request(iq: Xml, milliseconds?: number): Promise<Answer>
  /** Sends a message and waits until the server has it. */
  deliver(message: Xml): Promise<Delivery>
  /** A round trip with the server, in 4 s at most (XEP-0199); lines that share a link share it. */
  ping(): Promise<boolean>
}

export const requestMs = 10_000
export const pingMs = 4_000
