import type { Readable } from 'node:stream'
import type {
  ChatCall,
  ChatFailure,
  ChatInbound,
  ChatOutgoing,
  ChatPeer,
  ChatReceipt,
  ChatRemote,
  ChatSent,
} from './message-port.ts'
import type { Asked, LinkState } from './port.ts'

/**
 * The port to chat networks: types only. One `ChatNetwork` runs for each stored connection, in one process at a time; it
 * carries any number of lines, each a phone number of the platform (a channel). A connector knows nothing of the database:
 * what it learns it tells by `ChatEvents`, what it needs kept it hands to `ChatVault`.
 */

/** What a network may be able to do. */
export type ChatAbility =
  | 'send'
  /** To send texts that the network approved before. */
  | 'templates'
  | 'media'
  | 'location'
  /** Acknowledgement 2, received; and 3, read. */
  | 'receipts'
  | 'read_receipts'
  /** Whether a number is on the network; and its picture, status text and business information. */
  | 'check'
  | 'check_extra'
  | 'picture'
  | 'status'
  | 'groups'
  | 'group_changes'
  | 'contacts'
  | 'history'
  | 'calls'
  /** To take a message back from everyone who got it. */
  | 'remove'
  /** To tell who wrote that it was read. */
  | 'mark_read'

/** `emulated`: made of other means of the network, or only in part; `note` of the driver says how. */
export type ChatCan = 'yes' | 'emulated' | 'no'

export type ChatAbilities = { readonly [ability in ChatAbility]: ChatCan }

/** A number of the platform on a network. */
export type ChatLine = {
  /** The channel's uuid, without prefix. */
  readonly channel: string
  /** E.164 with `+`. */
  readonly number: string
  /** What others see as its name, where the network has such a thing. */
  readonly name: string
  /** The newest message that is kept, Unix milliseconds by the real clock: what came later is asked for after a break. */
  readonly since: number | null
}

/**
 * How a line stands, told at every change. `connected` only after a round trip with the network.
 * `fatal`: it will not come back by itself (logged out, wrong password, banned).
 */
export type ChatLineState = {
  readonly phase: 'connecting' | 'pairing' | 'connected' | 'disconnected' | 'failed'
  /** A short sentence that says why, for people. */
  readonly reason: string
  readonly fatal: boolean
  /** While pairing: what a phone scans, or the code that is typed into it, and when it ends (Unix milliseconds). */
  readonly qr?: string
  readonly code?: string
  readonly until?: number
  /** What the network says of the line itself. `server` is its address there, such as `447…@c.us`. */
  readonly me?: { readonly pushname?: string; readonly server?: string; readonly business?: boolean }
}

/** 200 added, 403 only invited (`invited`), 404 not on the network, 409 already in; others as the network gives them. */
export type ChatParticipant = {
  readonly number: string
  readonly code: number
  readonly message: string
  readonly invited: boolean
}

export type ChatGroupMade = { readonly id: string; readonly participants: readonly ChatParticipant[] }

export type ChatMember = ChatRemote & { readonly admin: boolean; readonly creator: boolean }

/** A group as the network shows it. */
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

/** Something happened to a group without our asking, or by it: `who` joined, left by themselves, or were removed. */
export type ChatGroupEvent = {
  /** The network's id of the event itself; what comes twice is kept once. */
  readonly id: string
  readonly group: string
  readonly name: string | null
  readonly what: 'join' | 'leave' | 'remove' | 'changed'
  readonly who: readonly ChatRemote[]
  readonly at: number
}

/** What a check found. `unknown` is neither: the network cannot tell, or did not answer in time. */
export type ChatChecked = {
  readonly number: string
  readonly there: 'yes' | 'no' | 'unknown'
  /** Digits as the network knows the number; where it differs, messages go to that. */
  readonly id: string | null
  readonly picture: string | null
  readonly pushname: string | null
  readonly status: string | null
  readonly business: ChatBusiness | null
}

/** What a business tells of itself; absent is not known (interface.md 4.7, `business_information`). */
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

/** What a connector tells. It answers its network only after the promise resolves: the thing is kept then. Everything may be
 *  told again, and in any order. */
export type ChatEvents = {
  line(channel: string, state: ChatLineState): void
  inbound(channel: string, message: ChatInbound): Promise<void>
  receipt(channel: string, receipt: ChatReceipt): Promise<void>
  failure(channel: string, failure: ChatFailure): Promise<void>
  edited(channel: string, edit: { readonly id: string; readonly text: string; readonly at: number }): Promise<void>
  reaction(
    channel: string,
    reaction: {
      readonly id: string
      readonly by: ChatRemote
      readonly emoji: string | null
      readonly at: number
      /** As in `ChatReceipt`. */
      readonly from?: ChatRemote
    },
  ): Promise<void>
  call(channel: string, call: ChatCall): Promise<void>
  group(channel: string, event: ChatGroupEvent): Promise<void>
  /** A network's id turned out to be of this number. */
  mapped(channel: string, remote: string, number: string): Promise<void>
  /** Whoever was told of by the number `before` is told of by another one from now on: the network writes theirs in its own way. */
  renamed(channel: string, before: string, number: string): Promise<void>
}

/** Keeps what a line needs to come back (keys, tokens): sealed, each `write` whole or not at all. */
export type ChatVault = {
  read(channel: string, type: string, ids: readonly string[]): Promise<ReadonlyMap<string, Buffer>>
  /** Null forgets. */
  write(channel: string, entries: readonly { type: string; id: string; value: Buffer | null }[]): Promise<void>
  /** @param except the types of what outlives the link */
  forget(channel: string, except?: readonly string[]): Promise<void>
}

/** What a connector is given. */
export type ChatTools = {
  readonly events: ChatEvents
  readonly vault: ChatVault
  /** The platform's folder on this machine, for what is installed on demand. */
  readonly home: string
  readonly log: (event: string, details?: object) => void
}

export type ChatNetwork = {
  /** Links the line, and keeps it linked: reconnects by itself, with growing waits and jitter. */
  attach(line: ChatLine): void
  /** Lets it go. @param logout also at the network: it must be paired anew then */
  detach(channel: string, logout: boolean): Promise<void>
  /** A round trip with the network on behalf of the line, in 4 s at most: true when it came back. Lines that share a link
   *  share the round trip. */
  prove(channel: string): Promise<boolean>
  send(channel: string, message: ChatOutgoing): Promise<Asked<ChatSent>>
  /** One answer for each number, in their order; never throws for what it does not know. */
  check?(channel: string, numbers: readonly string[], extra: boolean): Promise<readonly ChatChecked[]>
  setPicture?(channel: string, image: Buffer | null): Promise<Asked<null>>
  setStatus?(channel: string, text: string): Promise<Asked<null>>
  createGroup?(
    channel: string,
    group: { readonly name: string; readonly description: string | null; readonly participants: readonly string[] },
  ): Promise<Asked<ChatGroupMade>>
  groups?(channel: string): Promise<Asked<readonly ChatGroup[]>>
  changeGroup?(channel: string, group: string, change: ChatGroupChange): Promise<Asked<readonly ChatParticipant[]>>
  keepContact?(channel: string, contact: ChatContact): Promise<Asked<null>>
  /** @param authors in a group: who wrote each, E.164 or the network's id, as far as it is known */
  markRead?(
    channel: string,
    from: ChatPeer,
    ids: readonly string[],
    authors: readonly (string | null)[],
  ): Promise<Asked<null>>
  /** @returns whether it was taken back from everyone, or only from our side */
  remove?(channel: string, from: ChatPeer, id: string): Promise<Asked<'everyone' | 'us'>>
  /** The bytes of a file that came in by `{id}`. */
  media?(channel: string, id: string): Promise<Asked<{ readonly mimeType: string | null; readonly body: Readable }>>
  /** The link itself, for operators. */
  state(): LinkState
  close(): Promise<void>
}

/** A request that a network made of our callback address. */
export type ChatCallback = {
  readonly method: string
  readonly query: { readonly [name: string]: string }
  readonly headers: { readonly [name: string]: string | undefined }
  /** As it came, before any reading. */
  readonly raw: Buffer
}

export type ChatPlatform = 'sandbox' | 'xmpp' | 'whatsapp-cloud' | 'whatsapp-web'

/**
 * What a network proves about the telephone number of a line that it connects.
 * - `pairing`: possession; the phone of the number itself was paired.
 * - `listing`: the business account of the connection has the number; proof for the one account that the business account is of.
 * - `none`: nothing; the operator assigns the identities, so a claimant must have proved the number before.
 * - `simulated`: nothing; the network carries no messages of real people, so any number may be claimed there.
 */
export type ChatProof = 'pairing' | 'listing' | 'none' | 'simulated'

/** One kind of network, by its settings. */
export type ChatDriver<Settings> = {
  readonly platform: ChatPlatform
  readonly provesPossession: ChatProof
  /** What can be done with these settings, of which the secrets may be missing. */
  abilitiesOf(settings: Settings): ChatAbilities
  /** For each ability that is not `yes`: why, or how, in a sentence for integrators. */
  readonly notes: { readonly [ability in ChatAbility]?: string }
  /** Checks a minute toward the network and each connected number. */
  readonly checksPerMinute: number
  start(settings: Settings, tools: ChatTools): ChatNetwork
  /** Answers the network's own requests to us; may be called in any process. `lineOf` finds the channel of a number. */
  callback?(
    settings: Settings,
    request: ChatCallback,
    tools: ChatTools,
    lineOf: (number: string) => Promise<string | null>,
  ): Promise<{ readonly status: number; readonly body: string }>
}
