import type { ChatEvents } from '../connectors/chat-port.ts'
import type { Parts } from '../parts.ts'
import { makeGroupIntake } from './groups/intake.ts'
import { makeIncoming } from './messages/incoming.ts'
import { makeReceipts } from './messages/receipts.ts'

/** The channel that something came in for. */
export type Line = {
  readonly account: string
  /** Its uuid, without prefix. */
  readonly channel: string
  readonly connection: string
  readonly platform: string
  readonly number: string
}

type Heard = Omit<ChatEvents, 'line'>

/** Where what networks tell is kept: each resolves once it is, and may be told of the same thing again. */
export type Intake = {
  readonly [E in keyof Heard]: Heard[E] extends (channel: string, ...rest: infer R) => Promise<void>
    ? (line: Line, ...rest: R) => Promise<void>
    : never
}

export const makeIntake = ({ db, clock, chat: { surroundings } }: Parts): Intake => ({
  ...makeIncoming({ db, clock, surroundings }),
  ...makeReceipts(db, surroundings),
  ...makeGroupIntake(db),
})
