import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ignoreLibraryRejections, restoreSessionsOnFailure, suppressSessionLogs } from './library-patches.ts'

/** The only supported version. */
const version = '7.0.0-rc14'

/** The parts of baileys 7.0.0-rc14 that are used here. */

export type BinaryNode = {
  readonly tag: string
  readonly attrs: { readonly [name: string]: string }
  readonly content?: readonly BinaryNode[] | Uint8Array | string | undefined
}

export type MessageKey = {
  readonly id?: string | null
  readonly remoteJid?: string | null
  readonly remoteJidAlt?: string | null
  readonly fromMe?: boolean | null
  readonly participant?: string | null
  readonly participantAlt?: string | null
}

type Count = number | { toNumber(): number } | null

export type FileContent = {
  readonly mimetype?: string | null
  readonly caption?: string | null
  readonly fileName?: string | null
  readonly fileLength?: Count
  readonly directPath?: string | null
  readonly mediaKey?: Uint8Array | null
}

type LocationContent = {
  readonly degreesLatitude?: number | null
  readonly degreesLongitude?: number | null
  readonly name?: string | null
  readonly address?: string | null
  readonly url?: string | null
}

/** References of a message: a quoted message by its id, an advertisement. Each kind of content may have it. */
export type ContextInfo = {
  readonly stanzaId?: string | null
  readonly externalAdReply?: {
    readonly title?: string | null
    readonly body?: string | null
    readonly sourceUrl?: string | null
    readonly sourceType?: string | null
    readonly sourceId?: string | null
    readonly thumbnailUrl?: string | null
    readonly ctwaClid?: string | null
  } | null
}

export type Card = { readonly displayName?: string | null; readonly vcard?: string | null }

type Poll = {
  readonly name?: string | null
  readonly options?: readonly { readonly optionName?: string | null }[] | null
}

/** Decrypted content of a message (WAProto, `Message`). */
export type Content = {
  readonly conversation?: string | null
  readonly extendedTextMessage?: { readonly text?: string | null } | null
  readonly imageMessage?: FileContent | null
  readonly videoMessage?: FileContent | null
  readonly audioMessage?: FileContent | null
  readonly documentMessage?: FileContent | null
  readonly stickerMessage?: FileContent | null
  /** A round video note. */
  readonly ptvMessage?: FileContent | null
  readonly contactMessage?: Card | null
  readonly contactsArrayMessage?: { readonly contacts?: readonly Card[] | null } | null
  readonly pollCreationMessage?: Poll | null
  readonly pollCreationMessageV2?: Poll | null
  readonly pollCreationMessageV3?: Poll | null
  readonly pollCreationMessageV5?: Poll | null
  readonly buttonsResponseMessage?: {
    readonly selectedButtonId?: string | null
    readonly selectedDisplayText?: string | null
  } | null
  readonly templateButtonReplyMessage?: {
    readonly selectedId?: string | null
    readonly selectedDisplayText?: string | null
  } | null
  readonly listResponseMessage?: {
    readonly title?: string | null
    readonly description?: string | null
    readonly singleSelectReply?: { readonly selectedRowId?: string | null } | null
  } | null
  readonly interactiveResponseMessage?: {
    readonly body?: { readonly text?: string | null } | null
    readonly nativeFlowResponseMessage?: { readonly name?: string | null; readonly paramsJson?: string | null } | null
  } | null
  readonly locationMessage?: LocationContent | null
  readonly liveLocationMessage?: LocationContent | null
  readonly reactionMessage?: { readonly key?: MessageKey | null; readonly text?: string | null } | null
  readonly protocolMessage?: {
    readonly type?: number | null
    readonly key?: MessageKey | null
    readonly editedMessage?: Content | null
    readonly appStateSyncKeyShare?: {
      readonly keys?: readonly {
        readonly keyId?: { readonly keyId?: Uint8Array | null } | null
        readonly keyData?: object | null
      }[]
    } | null
  } | null
  readonly senderKeyDistributionMessage?: object | null
  readonly deviceSentMessage?: { readonly destinationJid?: string | null; readonly message?: Content | null } | null
}

export type Message = {
  readonly key: MessageKey
  readonly messageTimestamp?: Count
  readonly pushName?: string | null
  readonly message?: Content | null
}

export type Me = { readonly id: string; readonly lid?: string; readonly name?: string }

/**
 * `account` is set once a phone has linked the device. `platform` is that of the phone: smba and smbi are business
 * applications. `myAppStateKeyId` is set once the phone has shared the keys of its application state.
 */
export type Creds = { me?: Me; readonly account?: object; readonly platform?: string; myAppStateKeyId?: string }

type Values = { readonly [id: string]: unknown }

export type Keys = {
  get(type: string, ids: readonly string[]): Promise<Values>
  set(data: { readonly [type: string]: Values }): Promise<void>
}

/** The library's key store at run time: values set in a transaction are written when it ends. */
export type TransactionalKeys = Keys & { transaction<T>(work: () => Promise<T>, key: string): Promise<T> }

export type Repository = {
  decryptMessage(input: { jid: string; type: string; ciphertext: Uint8Array }): Promise<Uint8Array>
  decryptGroupMessage(input: { group: string; authorJid: string; msg: Uint8Array }): Promise<Uint8Array>
  encryptMessage(input: object): Promise<unknown>
  encryptGroupMessage(input: object): Promise<unknown>
  getSenderKeyDistributionMessage(input: object): Promise<unknown>
  processSenderKeyDistributionMessage(input: { item: object; authorJid: string }): Promise<void>
  injectE2ESession(input: object): Promise<unknown>
  deleteSession(jids: readonly string[]): Promise<unknown>
  validateSession(jid: string): Promise<unknown>
  migrateSession(from: string, to: string): Promise<unknown>
  readonly lidMapping: {
    getPNForLID(lid: string): Promise<string | null>
    /** Caches values that the keys hold as well. */
    readonly mappingCache: { readonly size: number; clear(): void }
  }
}

type MakeRepository = (auth: { creds: Creds; keys: TransactionalKeys }, ...rest: readonly unknown[]) => Repository

export type ParticipantsUpdate = readonly {
  readonly status: string
  readonly jid?: string
  readonly content: BinaryNode
}[]

export type GroupData = {
  readonly id: string
  readonly subject?: string
  readonly desc?: string
  readonly announce?: boolean
  readonly owner?: string
  readonly ownerPn?: string
  readonly participants: readonly {
    readonly id: string
    readonly phoneNumber?: string
    readonly admin?: 'admin' | 'superadmin' | null
  }[]
}

export type BusinessProfile = {
  readonly description?: string
  readonly website?: readonly string[]
  readonly email?: string
  readonly category?: string
  readonly business_hours?: {
    readonly timezone?: string
    readonly business_config?: readonly { readonly day_of_week?: string; readonly mode?: string }[]
  }
}

export type Events = {
  'creds.update': Partial<Creds>
  'connection.update': {
    readonly connection?: 'connecting' | 'open' | 'close'
    readonly qr?: string
    readonly lastDisconnect?: { readonly error?: Error & { readonly output?: { readonly statusCode?: number } } }
  }
  'messages.upsert': { readonly messages: readonly Message[]; readonly requestId?: string }
  'messages.update': readonly {
    readonly key: MessageKey
    readonly update: {
      readonly status?: number | null
      readonly messageTimestamp?: Count
      readonly messageStubParameters?: readonly string[] | null
    }
  }[]
  'message-receipt.update': readonly {
    readonly key: MessageKey
    readonly receipt: {
      readonly userJid?: string
      readonly receiptTimestamp?: Count
      readonly readTimestamp?: Count
    }
  }[]
  'lid-mapping.update': { readonly lid: string; readonly pn: string }
}

export type WASocket = {
  readonly ev: {
    on<E extends keyof Events>(event: E, listener: (event: Events[E]) => void): void
    removeAllListeners(event: keyof Events): void
  }
  readonly ws: {
    on(event: string, listener: (node: BinaryNode) => void): void
    prependListener(event: string, listener: (node: BinaryNode | Uint8Array) => void): void
    off(event: string, listener: (node: BinaryNode | Uint8Array) => void): void
    readonly isOpen: boolean
  }
  readonly user: Me | undefined
  readonly authState: { readonly creds: Creds; readonly keys: Keys }
  readonly signalRepository: Repository
  end(error: Error | undefined): Promise<void>
  logout(): Promise<void>
  query(node: BinaryNode, milliseconds?: number): Promise<BinaryNode | undefined>
  requestPairingCode(digits: string): Promise<string>
  sendMessage(jid: string, content: object, options: object): Promise<unknown>
  addOrEditContact(jid: string, contact: object): Promise<void>
  readMessages(keys: readonly MessageKey[]): Promise<void>
  onWhatsApp(...jids: readonly string[]): Promise<readonly { jid: string; exists: boolean }[] | undefined>
  profilePictureUrl(jid: string, type: 'image' | 'preview', milliseconds: number): Promise<string | undefined>
  fetchStatus(
    jid: string,
  ): Promise<readonly { readonly status?: { readonly status?: string | null } | null }[] | undefined>
  getBusinessProfile(jid: string): Promise<BusinessProfile | undefined>
  updateProfileStatus(text: string): Promise<void>
  groupCreate(subject: string, jids: readonly string[]): Promise<GroupData>
  groupMetadata(group: string): Promise<GroupData>
  groupFetchAllParticipating(): Promise<{ readonly [id: string]: GroupData }>
  groupParticipantsUpdate(group: string, jids: readonly string[], act: string): Promise<ParticipantsUpdate>
  groupUpdateDescription(group: string, text?: string): Promise<void>
  refreshMediaConn(force?: boolean): Promise<unknown>
  getMediaHost(): string
}

export type Library = {
  makeWASocket(config: object): WASocket
  readonly DEFAULT_CONNECTION_CONFIG: { readonly makeSignalRepository: MakeRepository }
  makeCacheableSignalKeyStore(keys: Keys, log: object): Keys
  initAuthCreds(): Creds
  decodeMessageNode(node: BinaryNode, me: string, lid: string): { fullMessage: Message; author: string }
  normalizeMessageContent(content: Content | null | undefined): Content | undefined
  unpadRandomMax16(bytes: Uint8Array): Uint8Array
  downloadContentFromMessage(
    file: { mediaKey: Uint8Array; directPath: string },
    type: string,
    options: { host: string },
  ): Promise<import('node:stream').Readable>
  readonly BufferJSON: {
    replacer(name: string, value: unknown): unknown
    reviver(name: string, value: unknown): unknown
  }
  readonly proto: {
    readonly Message: {
      decode(bytes: Uint8Array): Content
      readonly AppStateSyncKeyData: { fromObject(value: object): object }
    }
  }
}

/** Folder of the installed library; it is not part of our distribution. */
export const libraryFolder = (home: string): string => join(home, 'whatsapp-web')

export const missingLibraryError = `The library for WhatsApp Web is not installed on this machine: run "npm run whatsapp-web", which also explains why it is separate`

const loaded = new Map<string, Promise<Library>>()

const load = async (folder: string): Promise<Library> => {
  const found = join(folder, 'node_modules/baileys')
  const entry = join(found, 'lib/index.js')
  if (!existsSync(entry)) throw new Error(missingLibraryError)
  const { default: about } = await import(pathToFileURL(join(found, 'package.json')).href, { with: { type: 'json' } })
  if (about.version !== version)
    throw new Error(`The library for WhatsApp Web has version ${about.version}; version ${version} is required`)
  suppressSessionLogs()
  ignoreLibraryRejections()
  await restoreSessionsOnFailure(join(folder, 'node_modules'))
  // The version check above guarantees that the exports match these types.
  return (await import(pathToFileURL(entry).href)) as Library
}

/** @throws Error with instructions when the library is missing or has another version */
export const openLibrary = (home: string): Promise<Library> => {
  const folder = libraryFolder(home)
  const known = loaded.get(folder)
  if (known) return known
  const loading = load(folder)
  loaded.set(folder, loading)
  loading.catch(() => loaded.delete(folder))
  return loading
}
