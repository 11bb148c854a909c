import type { Readable } from 'node:stream'

/** What goes over chat networks and what is said of it: types only, of the port in chat-port.ts. */

/** Whom a message goes to: a number (`remote`: its id on the network, where one is known), or a group's id on the network. */
export type ChatPeer =
  | { readonly number: string; readonly remote: string | null; readonly group?: undefined }
  | { readonly group: string; readonly number?: undefined; readonly remote?: undefined }

export type ChatPin = {
  readonly latitude: number
  readonly longitude: number
  readonly name?: string
  readonly address?: string
  readonly url?: string
}

export type ChatMediaType = 'image' | 'video' | 'audio' | 'document'

/** A file of ours on its way out. */
export type ChatFile = {
  readonly type: ChatMediaType
  readonly mimeType: string
  readonly name: string
  readonly size: number
  /** A link to it that anybody may follow for a while. */
  readonly url: string
  open(): Readable
}

/** A text that the network has approved before, with what stands in its places. */
export type ChatTemplate = {
  readonly name: string
  /** As the network writes it, such as `en_GB`. */
  readonly language: string
  /** For the places of its body, in order. */
  readonly parameters?: readonly string[]
  /** Everything that stands in it, as the network's own interface has it; instead of `parameters`. */
  readonly components?: readonly object[]
}

export type ChatOutgoing = {
  /** Ours, and the same when it is sent again: networks that can leave doubles out do so by it. */
  readonly id: string
  readonly to: ChatPeer
  readonly text: string | null
  readonly file: ChatFile | null
  readonly pin: ChatPin | null
  /** Alone in its message. */
  readonly template?: ChatTemplate
}

/** `id` is the network's: receipts name it. `doubled`: the network knew the message already. */
export type ChatSent = { readonly id: string; readonly at: number }

/** Where the bytes of a file are: behind an address (fetched through our guard), or asked for by `ChatNetwork.media`. */
export type ChatMediaRef = {
  readonly ref: { readonly url: string } | { readonly id: string }
  readonly type: ChatMediaType
  readonly mimeType: string | null
  readonly name: string | null
  readonly size: number | null
}

/** Who wrote: `number` is E.164, null where the network tells only its own id; never made of that id. */
export type ChatRemote = { readonly number: string | null; readonly remote: string; readonly pushname: string | null }

export type ChatInbound = {
  /** The network's id: what comes twice is kept once. */
  readonly id: string
  /** The other end of the conversation; in a group, who wrote. */
  readonly from: ChatRemote
  readonly group: { readonly id: string; readonly name: string | null } | null
  /** By the network's clock, Unix milliseconds. */
  readonly at: number
  readonly text: string | null
  readonly media: ChatMediaRef | null
  readonly pin: ChatPin | null
  /** True when it was sent from our own number by another device of it; `from` is then whom it went to. */
  readonly own: boolean
}

export type ChatReceipt = {
  /** Of the message that it is about, the network's. */
  readonly id: string
  /** The id that we gave it, where the network tells that: known so even when the answer to its sending was lost. */
  readonly ours?: string
  /** 1 sent, 2 received, 3 read. */
  readonly level: 1 | 2 | 3
  readonly at: number
  /** In a group: who. */
  readonly by: ChatRemote | null
  /** The sender of the receipt, where the network lets anybody name a message: only the recipient of the message counts. */
  readonly from?: ChatRemote
}

export type ChatFailure = {
  readonly id: string
  readonly ours?: string
  readonly code: string
  readonly reason: string
  readonly at: number
  /** As in `ChatReceipt`. */
  readonly from?: ChatRemote
}

export type ChatCall = {
  readonly id: string
  /** The other end. */
  readonly from: ChatRemote
  /** True when it was made from our own number, by another device of it; `from` is then whom it went to. */
  readonly own?: boolean
  readonly group: string | null
  readonly video: boolean
  readonly at: number
  readonly state: 'offered' | 'ended'
  /** Of one that ended: whether they talked, where the network tells that. */
  readonly answered?: boolean
}
