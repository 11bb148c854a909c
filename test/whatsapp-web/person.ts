import { createHash } from 'node:crypto'
import type { BinaryNode, Content } from '../../src/adapters/whatsapp-web/library.ts'
import { AddressBook } from './app-state.ts'
import { type DecryptedMessage, type Identity, type Library, type Pair, type Signal, silentLogger } from './library.ts'
import { node } from './nodes.ts'

export type ReceivedMessage = {
  readonly id: string
  text: string
  digest?: string
  pin?: { latitude: number; longitude: number }
  removed?: boolean
  group?: string
}

const threeBytes = (value: number) => Buffer.from([value >> 16, value >> 8, value])
const fourBytes = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const storeOf = () => {
  const kept = new Map<string, unknown>()
  const at = (type: string, id: string) => `${type} ${id}`
  return {
    get: async (type: string, ids: readonly string[]) =>
      Object.fromEntries(ids.flatMap((id) => (kept.has(at(type, id)) ? [[id, kept.get(at(type, id))]] : []))),
    set: async (data: { [type: string]: { [id: string]: unknown } }) => {
      for (const [type, values] of Object.entries(data))
        for (const [id, value] of Object.entries(values)) {
          if (value === null || value === undefined) kept.delete(at(type, id))
          else kept.set(at(type, id), value)
        }
    },
  }
}

/** A person with a phone: identity, public keys and received messages. */
export class Person {
  readonly number: string
  readonly lid: string
  readonly identity: Identity
  readonly signal: Signal
  readonly received: ReceivedMessage[] = []
  readonly unread: { id: string; chat: string }[] = []
  /** Ids of own messages that a recipient has read. */
  readonly wereRead = new Set<string>()
  readonly invitedTo: string[] = []
  /** Number of the last linked device. */
  lastDevice = 0
  /** Count of messages to them that the network refused. */
  refusals = 0
  status = 'Hey there! I am using this.'
  picture: Buffer | null = null
  readonly addressBook: AddressBook
  readonly library: Library
  private readonly store = storeOf()
  private nextPreKey = 1

  /** @param digits of the number */
  constructor(library: Library, digits: string, lid: string) {
    this.library = library
    this.number = digits
    this.lid = lid
    this.identity = library.initAuthCreds()
    this.addressBook = new AddressBook(library)
    const options = { maxCommitRetries: 1, delayBetweenTriesMs: 1 }
    const keys = library.addTransactionCapability(this.store, silentLogger, options)
    this.signal = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds: this.identity, keys }, silentLogger)
  }

  get pnJid(): string {
    return `${this.number}@s.whatsapp.net`
  }

  get lidJid(): string {
    return `${this.lid}@lid`
  }

  /** Key bundle for a first message. */
  async bundle(jid: string): Promise<BinaryNode> {
    const { registrationId, signedIdentityKey, signedPreKey } = this.identity
    const id = this.nextPreKey++
    const pair: Pair = this.library.Curve.generateKeyPair()
    await this.store.set({ 'pre-key': { [id]: pair } })
    return node('user', { jid }, [
      node('registration', {}, fourBytes(registrationId)),
      node('type', {}, Buffer.from([5])),
      node('identity', {}, signedIdentityKey.public),
      node('skey', {}, [
        node('id', {}, threeBytes(signedPreKey.keyId)),
        node('value', {}, signedPreKey.keyPair.public),
        node('signature', {}, signedPreKey.signature),
      ]),
      node('key', {}, [node('id', {}, threeBytes(id)), node('value', {}, pair.public)]),
    ])
  }

  /** Decrypts a message for this phone. */
  async open(from: string, type: string, ciphertext: Uint8Array): Promise<DecryptedMessage> {
    const opened = await this.signal.decryptMessage({ jid: from, type, ciphertext })
    return this.library.proto.Message.decode(this.library.unpadRandomMax16(opened))
  }

  async openInGroup(group: string, from: string, ciphertext: Uint8Array): Promise<DecryptedMessage> {
    const opened = await this.signal.decryptGroupMessage({ group, authorJid: from, msg: ciphertext })
    return this.library.proto.Message.decode(this.library.unpadRandomMax16(opened))
  }

  /** Shows a message on the phone; duplicates are dropped, as in applications. */
  async display(id: string, content: Content, chat: string, ca: { host: string }): Promise<void> {
    const said = this.library.normalizeMessageContent(content)
    if (!said || this.received.some((one) => one.id === id)) return
    if (said.protocolMessage) {
      const { type, key } = said.protocolMessage
      const about = this.received.find((one) => one.id === key?.id)
      if (type === 0 && about) about.removed = true
      return
    }
    if (said.groupInviteMessage?.groupJid) this.invitedTo.push(said.groupInviteMessage.groupJid)
    const file = said.imageMessage ?? said.videoMessage ?? said.audioMessage ?? said.documentMessage
    const place = said.locationMessage
    const text = said.conversation || said.extendedTextMessage?.text || file?.caption || ''
    if (!text && !file && !place) return
    const group = chat.endsWith('@g.us') ? { group: chat } : {}
    const received: ReceivedMessage = { id, text, ...group }
    if (place) received.pin = { latitude: place.degreesLatitude ?? 0, longitude: place.degreesLongitude ?? 0 }
    if (file) received.digest = await this.digestOf(file, said, ca)
    this.received.push(received)
    this.unread.push({ id, chat })
  }

  private async digestOf(file: object, said: Content, { host }: { host: string }): Promise<string> {
    const type = said.imageMessage ? 'image' : said.videoMessage ? 'video' : said.audioMessage ? 'audio' : 'document'
    const hash = createHash('sha256')
    for await (const piece of await this.library.downloadContentFromMessage(file, type, { host })) hash.update(piece)
    return hash.digest('hex')
  }
}
