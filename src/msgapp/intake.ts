import type { ChatEvents } from '../connectors/chat-port.ts'
import type { Parts } from '../parts.ts'
import { withAside } from './aside/ops.ts'
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

/** Where what networks tell is kept: each resolves once it is, or once it is set aside, and may be told of the same thing again. */
export type Intake = {
  readonly [E in keyof Heard]: Heard[E] extends (channel: string, ...rest: infer R) => Promise<void>
    ? (line: Line, ...rest: R) => Promise<void>
    : never
}

/** What a connector tells of channels, for their lines. @param lineOf throws for a channel that is not its own */
export const heardBy = (intake: Intake, lineOf: (channel: string) => Line): Heard => ({
  inbound: async (channel, message) => intake.inbound(lineOf(channel), message),
  receipt: async (channel, receipt) => intake.receipt(lineOf(channel), receipt),
  failure: async (channel, failure) => intake.failure(lineOf(channel), failure),
  edited: async (channel, edit) => intake.edited(lineOf(channel), edit),
  reaction: async (channel, reaction) => intake.reaction(lineOf(channel), reaction),
  call: async (channel, call) => intake.call(lineOf(channel), call),
  group: async (channel, event) => intake.group(lineOf(channel), event),
  mapped: async (channel, remote, number) => intake.mapped(lineOf(channel), remote, number),
  renamed: async (channel, before, number) => intake.renamed(lineOf(channel), before, number),
})

/** Keeps what it is given, or says why not. */
export const makeKeeper = ({ db, clock, chat: { surroundings } }: Parts): Intake => ({
  ...makeIncoming({ db, clock, surroundings }),
  ...makeReceipts(db, surroundings),
  ...makeGroupIntake(db),
})

export const makeIntake = (parts: Parts): Intake => withAside(parts, makeKeeper(parts))
