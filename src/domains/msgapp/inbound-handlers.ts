import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { ChatEvents } from '../../ports/chat.ts'
import type { ChatParty } from '../../ports/chat-message.ts'

type InboundEvents = Omit<ChatEvents, 'line'>

/** Reference to the channel that an event arrived on. */
export type ChannelRef = {
  readonly account: string
  /** Channel uuid, without prefix. */
  readonly channel: string
  readonly connection: string
  readonly platform: string
  readonly number: string
}

/** Handlers of inbound events. Each resolves once the event is stored or is a dead letter, and tolerates repeats. */
export type InboundHandlers = {
  readonly [E in keyof InboundEvents]: InboundEvents[E] extends (channel: string, ...rest: infer R) => Promise<void>
    ? (channelRef: ChannelRef, ...rest: R) => Promise<void>
    : never
}

/** A person under the canonical form of the number, whatever form the network has. Its own id stays as it is. */
const canonical = <P extends ChatParty | null | undefined>(party: P): P =>
  party && party.number !== null ? { ...party, number: canonicalNumber(party.number) } : party

/** The sender of an event, where the network names one. */
const withSender = <E extends { readonly from?: ChatParty }>(event: E): E =>
  event.from ? { ...event, from: canonical(event.from) } : event

/**
 * Adapts a connector's events of channels to the handlers.
 * Numbers get their canonical form here, for all networks.
 * @param channelRefOf resolves a channel; throws for one of another connection
 */
export const toEvents = (intake: InboundHandlers, channelRefOf: (channel: string) => ChannelRef): InboundEvents => ({
  inbound: async (channel, message) => intake.inbound(channelRefOf(channel), withSender(message)),
  receipt: async (channel, receipt) =>
    intake.receipt(channelRefOf(channel), withSender({ ...receipt, by: canonical(receipt.by) })),
  failure: async (channel, failure) => intake.failure(channelRefOf(channel), withSender(failure)),
  edited: async (channel, edit) => intake.edited(channelRefOf(channel), edit),
  reaction: async (channel, reaction) =>
    intake.reaction(channelRefOf(channel), withSender({ ...reaction, by: canonical(reaction.by) })),
  call: async (channel, call) => intake.call(channelRefOf(channel), withSender(call)),
  group: async (channel, event) =>
    intake.group(channelRefOf(channel), { ...event, who: event.who.map((one) => canonical(one)) }),
  mapped: async (channel, remote, number) => intake.mapped(channelRefOf(channel), remote, canonicalNumber(number)),
  renamed: async (channel, before, number) =>
    intake.renamed(channelRefOf(channel), canonicalNumber(before), canonicalNumber(number)),
})
