import type { ChatEvents } from '../../ports/chat.ts'

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
