import type { Readable } from 'node:stream'

/** Messages of chat networks and their events: types of the port in chat.ts. */

/** Recipient of a message: a number, in the form that the network gave it, with its network id (`remote`) where known, or
 *  the network id of a group. */
export type ChatPeer =
  | { readonly number: string; readonly remote: string | null; readonly group?: undefined }
  | { readonly group: string; readonly number?: undefined; readonly remote?: undefined }

export type ChatLocation = {
  readonly latitude: number
  readonly longitude: number
  readonly name?: string
  readonly address?: string
  readonly url?: string
}

export type ChatMediaType = 'image' | 'video' | 'audio' | 'document'

/** An outgoing file. */
export type ChatFile = {
  readonly type: ChatMediaType
  readonly mimeType: string
  readonly name: string
  readonly size: number
  /** Public link to the file, valid for a limited time. */
  readonly url: string
  open(): Readable
}

/** A message template that the network approved in advance, with its parameters. */
export type ChatTemplate = {
  readonly name: string
  /** Language code of the network, such as `en_GB`. */
  readonly language: string
  /** Parameters of the body, in order. */
  readonly parameters?: readonly string[]
  /** All components in the format of the network's own interface; replaces `parameters`. */
  readonly components?: readonly object[]
}

export type ChatOutgoing = {
  /** Our id, stable over retries. Networks that can deduplicate do so by it. */
  readonly id: string
  readonly to: ChatPeer
  readonly text: string | null
  readonly file: ChatFile | null
  readonly pin: ChatLocation | null
  /** Excludes any other content. */
  readonly template?: ChatTemplate
}

/** `id` is the network's; receipts refer to it. */
export type ChatSendResult = { readonly id: string; readonly at: number }

/** Location of a file's bytes: a URL (fetched through our guard), or an id for `ChatNetwork.media`. */
export type ChatMediaRef = {
  readonly ref: { readonly url: string } | { readonly id: string }
  readonly type: ChatMediaType
  readonly mimeType: string | null
  readonly name: string | null
  readonly size: number | null
}

/** A remote party. `number` is E.164, in any form that the network has; null if the network gives only its own id. It is
 *  never derived from that id. */
export type ChatParty = { readonly number: string | null; readonly remote: string; readonly pushname: string | null }

/** A contact card. Numbers are as the sender wrote them; `wa_id` is the network's id of one. */
export type ChatCard = {
  readonly name: {
    readonly formatted_name?: string
    readonly first_name?: string
    readonly middle_name?: string
    readonly last_name?: string
  }
  readonly phones: readonly { readonly phone: string; readonly type?: string; readonly wa_id?: string }[]
  readonly emails: readonly { readonly email: string; readonly type?: string }[]
  readonly org?: { readonly company?: string; readonly department?: string; readonly title?: string }
}

/** A product of a catalogue. */
export type ChatProduct = { readonly catalog_id?: string; readonly product_retailer_id?: string }

/** Content of a received message that its text only summarises, with the field names of the API. */
export type ChatContent =
  | { readonly kind: 'button'; readonly text?: string; readonly payload?: string }
  | {
      readonly kind: 'reply'
      readonly type: 'button' | 'list'
      readonly id: string
      readonly title?: string
      readonly description?: string
    }
  /** @prop response_json the answers as they came, if they are no JSON object */
  | {
      readonly kind: 'flow'
      readonly name?: string
      readonly body?: string
      readonly answers?: { readonly [name: string]: unknown }
      readonly response_json?: string
    }
  | { readonly kind: 'contacts'; readonly contacts: readonly ChatCard[] }
  | {
      readonly kind: 'order'
      readonly catalog_id?: string
      readonly text?: string
      readonly products: readonly {
        readonly product_retailer_id?: string
        readonly quantity?: number
        readonly item_price?: number
        readonly currency?: string
      }[]
    }
  /** @prop type the network's name of the kind */
  | { readonly kind: 'unsupported'; readonly type: string; readonly payload: object }

/** The advertisement or post from which a person wrote. */
export type ChatReferral = {
  readonly [field in
    | 'source_url'
    | 'source_type'
    | 'source_id'
    | 'headline'
    | 'body'
    | 'media_type'
    | 'image_url'
    | 'video_url'
    | 'thumbnail_url'
    | 'ctwa_clid'
    | 'welcome_message']?: string
}

export type ChatInbound = {
  /** The network's id, for deduplication. */
  readonly id: string
  /** The other side of the conversation; in a group, the author. */
  readonly from: ChatParty
  readonly group: { readonly id: string; readonly name: string | null } | null
  /** Unix milliseconds of the network's clock. */
  readonly at: number
  readonly text: string | null
  readonly media: ChatMediaRef | null
  readonly pin: ChatLocation | null
  readonly content?: ChatContent | null
  /** The network's id of the message that this one quotes. */
  readonly quoted?: string | null
  /** The product that this message asks about. */
  readonly product?: ChatProduct | null
  readonly referral?: ChatReferral | null
  /** Whether another device of our own number sent it. `from` is then the recipient. */
  readonly own: boolean
}

export type ChatReceipt = {
  /** The network's id of the message. */
  readonly id: string
  /** Our id of the message, if the network reports it. It identifies the message even if the send response was lost. */
  readonly ours?: string
  /** 1 sent, 2 received, 3 read. */
  readonly level: 1 | 2 | 3
  readonly at: number
  /** In a group: the member. */
  readonly by: ChatParty | null
  /** Sender of the receipt, if the network lets anyone refer to a message. Only the message's recipient is accepted. */
  readonly from?: ChatParty
}

export type ChatFailure = {
  readonly id: string
  readonly ours?: string
  readonly code: string
  readonly reason: string
  readonly at: number
  /** As in `ChatReceipt`. */
  readonly from?: ChatParty
}

export type ChatCall = {
  readonly id: string
  /** The other side. */
  readonly from: ChatParty
  /** Whether another device of our own number made the call. `from` is then the callee. */
  readonly own?: boolean
  readonly group: string | null
  readonly video: boolean
  readonly at: number
  readonly state: 'offered' | 'ended'
  /** For an ended call: whether it was answered, if the network reports it. */
  readonly answered?: boolean
}
