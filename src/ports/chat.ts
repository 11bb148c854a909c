import type { Readable } from 'node:stream'
import type { Callback, CallbackReply } from './callback.ts'
import type {
  ChatCall,
  ChatFailure,
  ChatInbound,
  ChatOutgoing,
  ChatParty,
  ChatPeer,
  ChatReceipt,
  ChatSendResult,
} from './chat-message.ts'
import type { LinkState } from './sms.ts'
import type { ServiceResult } from './supplier.ts'

/**
 * The port to chat networks: types only. One `ChatNetwork` runs per stored connection, in one process at a time. It
 * carries any number of channels, each a phone number of the platform. A connector knows nothing of the database: it
 * reports events through `ChatEvents` and persists state through `ChatCredentialStore`.
 */

/** A capability of a network. */
export type ChatCapability =
  | 'send'
  /** Messages that the network approved in advance. */
  | 'templates'
  | 'media'
  | 'location'
  /** Acknowledgement levels 2 (received) and 3 (read). */
  | 'receipts'
  | 'read_receipts'
  /** Looks up whether a number is on the network; `check_extra`: also picture, status text and business information. */
  | 'check'
  | 'check_extra'
  | 'picture'
  | 'status'
  | 'groups'
  | 'group_changes'
  | 'contacts'
  | 'history'
  | 'calls'
  /** Deletes a message for all recipients. */
  | 'remove'
  /** Sends read receipts to authors. */
  | 'mark_read'

/** `emulated`: by other means of the network, or only partly; the driver's `notes` explain it. */
export type ChatSupport = 'yes' | 'emulated' | 'no'

export type ChatCapabilities = { readonly [ability in ChatCapability]: ChatSupport }

/** A phone number of the platform on a network. */
export type ChatChannel = {
  /** The channel's uuid, without prefix. */
  readonly channel: string
  /** E.164 with `+`. */
  readonly number: string
  /** Display name, where the network supports one. */
  readonly name: string
  /** Time of the newest stored message, Unix milliseconds of the real clock. Later ones are fetched after a break. */
  readonly since: number | null
}

/**
 * State of a channel, reported at every change. `connected` requires a round trip with the network.
 * `fatal`: the channel cannot recover by itself (logged out, wrong password, banned).
 */
export type ChatChannelState = {
  readonly phase: 'connecting' | 'pairing' | 'connected' | 'disconnected' | 'failed'
  /** Reason, in a short sentence for people. */
  readonly reason: string
  readonly fatal: boolean
  /** While pairing: the QR code to scan or the code to type, and its expiry (Unix milliseconds). */
  readonly qr?: string
  readonly code?: string
  readonly until?: number
  /** Network data of the channel itself. `id`: by which its callbacks name it; `server`: its address, such as `447…@c.us`. */
  readonly me?: {
    readonly id?: string
    readonly pushname?: string
    readonly server?: string
    readonly business?: boolean
  }
}

/** Codes: 200 added, 403 only invited (`invited`), 404 not on the network, 409 already a member; others as received. */
export type ChatParticipant = {
  readonly number: string
  readonly code: number
  readonly message: string
  readonly invited: boolean
}

export type ChatGroupCreation = { readonly id: string; readonly participants: readonly ChatParticipant[] }

export type ChatMember = ChatParty & { readonly admin: boolean; readonly creator: boolean }

/** A group as the network reports it. */
export type ChatGroup = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly readOnly: boolean
  readonly members: readonly ChatMember[]
}

export type ChatGroupChange =
  | { readonly act: 'add' | 'remove' | 'promote' | 'demote'; readonly numbers: readonly string[] }
  | { readonly act: 'description'; readonly text: string }
  | { readonly act: 'picture'; readonly image: Buffer | null }

/** A change of a group, whether we requested it or not. `who`: members that joined, left or were removed. */
export type ChatGroupEvent = {
  /** The network's id of the event, for deduplication. */
  readonly id: string
  readonly group: string
  readonly name: string | null
  readonly what: 'join' | 'leave' | 'remove' | 'changed'
  readonly who: readonly ChatParty[]
  readonly at: number
}

/** Result of a number lookup. `unknown`: the network cannot answer, or did not answer in time. */
export type ChatNumberCheck = {
  readonly number: string
  readonly there: 'yes' | 'no' | 'unknown'
  /** The number's digits in the network's own form. Where they differ, messages go to them. */
  readonly id: string | null
  readonly picture: string | null
  readonly pushname: string | null
  readonly status: string | null
  readonly business: ChatBusiness | null
}

/** Profile of a business, `business_information` of the interface. Absent fields are unknown. */
export type ChatBusiness = {
  readonly verified_name?: string
  readonly short_name?: string
  readonly lang_code?: string
  readonly currency?: string
  readonly verified_level?: number
  readonly enterprise?: boolean
  readonly business_hours?: {
    readonly config: { readonly [day: string]: { readonly mode: string } }
    readonly timezone: string
  }
  readonly map_pin?: { readonly latitude: number; readonly longitude: number }
  readonly description?: string
  readonly email?: string
  readonly cart_enabled?: boolean
  readonly website?: readonly string[]
  readonly categories?: readonly { readonly id: string; readonly localized_display_name: string }[]
}

export type ChatContact = {
  readonly number: string
  readonly firstName: string
  readonly lastName: string
}

/** Events of a connector. It acknowledges to its network only after the promise resolves, when the event is committed.
 *  Events may repeat, and may come in any order. */
export type ChatEvents = {
  line(channel: string, state: ChatChannelState): void
  inbound(channel: string, message: ChatInbound): Promise<void>
  receipt(channel: string, receipt: ChatReceipt): Promise<void>
  failure(channel: string, failure: ChatFailure): Promise<void>
  edited(channel: string, edit: { readonly id: string; readonly text: string; readonly at: number }): Promise<void>
  reaction(
    channel: string,
    reaction: {
      readonly id: string
      readonly by: ChatParty
      readonly emoji: string | null
      readonly at: number
      /** As in `ChatReceipt`. */
      readonly from?: ChatParty
    },
  ): Promise<void>
  call(channel: string, call: ChatCall): Promise<void>
  group(channel: string, event: ChatGroupEvent): Promise<void>
  /** The number of a network id became known. */
  mapped(channel: string, remote: string, number: string): Promise<void>
  /** The contact known as `before` now has the number `number`: the person changed it, or the network writes numbers in its
   *  own way. */
  renamed(channel: string, before: string, number: string): Promise<void>
}

/** Stores the keys and tokens that a channel needs to reconnect. Entries are encrypted; each `write` is atomic. */
export type ChatCredentialStore = {
  read(channel: string, type: string, ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>>
  /** A null value deletes the entry. */
  write(channel: string, entries: readonly { type: string; id: string; value: Buffer | null }[]): Promise<void>
  /** @param except types of entries that outlive the link */
  forget(channel: string, except?: readonly string[]): Promise<void>
}

/** Dependencies of a connector. */
export type ChatDeps = {
  readonly events: ChatEvents
  readonly credentials: ChatCredentialStore
  /** The platform's folder on this machine, for software that is installed on demand. */
  readonly home: string
  readonly log: (event: string, details?: object) => void
}

export type ChatNetwork = {
  /** Connects the channel and reconnects it by itself, with backoff and jitter. */
  attach(channel: ChatChannel): void
  /** Disconnects the channel. @param logout also log out at the network; the channel must then be paired again */
  detach(channel: string, logout: boolean): Promise<void>
  /** Makes a round trip with the network for the channel, in at most 4 s; true on success. Channels that share a link
   *  share the round trip. */
  ping(channel: string): Promise<boolean>
  send(channel: string, message: ChatOutgoing): Promise<ServiceResult<ChatSendResult>>
  /** Returns a result per number, in the same order. Does not throw for unknown numbers. */
  check?(channel: string, numbers: readonly string[], extra: boolean): Promise<readonly ChatNumberCheck[]>
  setPicture?(channel: string, image: Buffer | null): Promise<ServiceResult<null>>
  setStatus?(channel: string, text: string): Promise<ServiceResult<null>>
  createGroup?(
    channel: string,
    group: { readonly name: string; readonly description: string | null; readonly participants: readonly string[] },
  ): Promise<ServiceResult<ChatGroupCreation>>
  groups?(channel: string): Promise<ServiceResult<readonly ChatGroup[]>>
  changeGroup?(
    channel: string,
    group: string,
    change: ChatGroupChange,
  ): Promise<ServiceResult<readonly ChatParticipant[]>>
  saveContact?(channel: string, contact: ChatContact): Promise<ServiceResult<null>>
  /** @param authors in a group: the author of each message, E.164 or the network's id, where known */
  markRead?(
    channel: string,
    from: ChatPeer,
    ids: readonly string[],
    authors: readonly (string | null)[],
  ): Promise<ServiceResult<null>>
  /** @returns whether the message was deleted for all recipients or only for us */
  remove?(channel: string, from: ChatPeer, id: string): Promise<ServiceResult<'everyone' | 'us'>>
  /** Returns the bytes of a received file by its id. */
  media?(
    channel: string,
    id: string,
  ): Promise<ServiceResult<{ readonly mimeType: string | null; readonly body: Readable }>>
  /** State of the link, for operators. */
  state(): LinkState
  close(): Promise<void>
}

export type ChatPlatform = 'sandbox' | 'xmpp' | 'whatsapp-cloud' | 'whatsapp-web'

/**
 * Proof of possession that a network gives for the telephone number of a connected channel.
 * - `pairing`: possession; the phone of the number itself was paired.
 * - `listing`: the business account of the connection has the number. This is proof only for the owner of that account.
 * - `none`: no proof; the operator assigns the identities, so a claimant must have proved the number before.
 * - `simulated`: no proof; the network carries no messages of real people, so any number may be claimed.
 */
export type ChatProof = 'pairing' | 'listing' | 'none' | 'simulated'

/** The code of a kind of network. */
export type ChatConnector<Settings> = { start(settings: Settings, deps: ChatDeps): ChatNetwork }

/** A kind of network, configured by settings. */
export type ChatDriver<Settings> = {
  readonly platform: ChatPlatform
  readonly provesPossession: ChatProof
  /** Returns the capabilities with these settings. Secrets may be missing from them. */
  capabilitiesOf(settings: Settings): ChatCapabilities
  /** For each capability that is not `yes`: the reason or the method, in a sentence for integrators. */
  readonly notes: { readonly [ability in ChatCapability]?: string }
  /** Number checks per minute, for the network and for each connected number. */
  readonly checksPerMinute: number
  /** Hours after a message of a person in which the network accepts free text to them. Default: always. */
  readonly freeTextHours?: number
  /** Loads the code of the network. Called on first use, as most installations use one network or none. */
  load(): Promise<ChatConnector<Settings>>
  /**
   * Answers requests of the network to us, in any process. `channelOf` returns the channel of a number: by the network's
   * id of it, and before the channel was connected by the number.
   */
  callback?(
    settings: Settings,
    request: Callback,
    deps: ChatDeps,
    channelOf: (number: { readonly id: string | null; readonly number: string }) => Promise<string | null>,
  ): Promise<CallbackReply>
}
