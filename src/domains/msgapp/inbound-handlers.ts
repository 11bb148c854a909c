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

/** A person under the canonical form of the number, whatever form the network has. */
export const canonicalParty = <P extends ChatParty | null | undefined>(party: P): P =>
  party && party.number !== null ? { ...party, number: canonicalNumber(party.number) } : party

/** The sender of an event, where the network names one. */
const withSender = <E extends { readonly from?: ChatParty }>(event: E): E =>
  event.from ? { ...event, from: canonicalParty(event.from) } : event

/**
 * Gives numbers their canonical form before they are stored, for all networks: persons are known by it. The handler of
 * messages does so itself, as it stores the network's form too.
 */
export const withCanonicalNumbers = (intake: InboundHandlers): InboundHandlers => ({
  ...intake,
  receipt: (channelRef, receipt) =>
    intake.receipt(channelRef, withSender({ ...receipt, by: canonicalParty(receipt.by) })),
  failure: (channelRef, failure) => intake.failure(channelRef, withSender(failure)),
  reaction: (channelRef, reaction) =>
    intake.reaction(channelRef, withSender({ ...reaction, by: canonicalParty(reaction.by) })),
  call: (channelRef, call) => intake.call(channelRef, withSender(call)),
  group: (channelRef, event) =>
    intake.group(channelRef, { ...event, who: event.who.map((one) => canonicalParty(one)) }),
  mapped: (channelRef, remote, number) => intake.mapped(channelRef, remote, canonicalNumber(number)),
  renamed: (channelRef, before, number) => intake.renamed(channelRef, canonicalNumber(before), canonicalNumber(number)),
})

/**
 * Adapts a connector's events of channels to the handlers.
 * @param channelRefOf resolves a channel; throws for one of another connection
 */
export const toEvents = (intake: InboundHandlers, channelRefOf: (channel: string) => ChannelRef): InboundEvents => ({
  inbound: async (channel, message) => intake.inbound(channelRefOf(channel), message),
  receipt: async (channel, receipt) => intake.receipt(channelRefOf(channel), receipt),
  failure: async (channel, failure) => intake.failure(channelRefOf(channel), failure),
  edited: async (channel, edit) => intake.edited(channelRefOf(channel), edit),
  reaction: async (channel, reaction) => intake.reaction(channelRefOf(channel), reaction),
  call: async (channel, call) => intake.call(channelRefOf(channel), call),
  group: async (channel, event) => intake.group(channelRefOf(channel), event),
  mapped: async (channel, remote, number) => intake.mapped(channelRefOf(channel), remote, number),
  renamed: async (channel, before, number) => intake.renamed(channelRefOf(channel), before, number),
})
