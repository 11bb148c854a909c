import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BinaryNode, Content, TransactionalKeys } from '../../src/adapters/whatsapp-web/library.ts'
import { restoreSessionsOnFailure } from '../../src/adapters/whatsapp-web/library-patches.ts'
import type { Action, Patch } from './contact-patch.ts'

// The parts of the installed library that the simulated network uses: binary nodes, protocol messages, and Signal for
// the people. Identities, state and responses are our own code.

export type Pair = { readonly public: Uint8Array; readonly private: Uint8Array }
export type SignedPair = { readonly keyPair: Pair; readonly keyId: number; readonly signature: Uint8Array }

export type Identity = {
  readonly signedIdentityKey: Pair
  readonly signedPreKey: SignedPair
  readonly registrationId: number
}

type EncryptedMessage = { type: 'pkmsg' | 'msg'; ciphertext: Uint8Array }

export type Signal = {
  encryptMessage(given: { jid: string; data: Uint8Array }): Promise<EncryptedMessage>
  decryptMessage(given: { jid: string; type: string; ciphertext: Uint8Array }): Promise<Uint8Array>
  encryptGroupMessage(given: {
    group: string
    meId: string
    data: Uint8Array
  }): Promise<{ ciphertext: Uint8Array; senderKeyDistributionMessage: Uint8Array }>
  decryptGroupMessage(given: { group: string; authorJid: string; msg: Uint8Array }): Promise<Uint8Array>
  processSenderKeyDistributionMessage(given: { item: object; authorJid: string }): Promise<void>
  injectE2ESession(given: { jid: string; session: object }): Promise<void>
  validateSession(jid: string): Promise<{ exists: boolean }>
  deleteSession(jids: readonly string[]): Promise<void>
  readonly lidMapping: { storeLIDPNMappings(pairs: readonly { lid: string; pn: string }[]): Promise<void> }
}

type Codec<T> = { encode(value: object): { finish(): Uint8Array }; decode(bytes: Uint8Array): T }

/** A decrypted message on a phone. */
export type DecryptedMessage = Content & {
  readonly groupInviteMessage?: { readonly groupJid?: string | null } | null
}

export type Library = {
  encodeBinaryNode(node: BinaryNode): Buffer
  decodeBinaryNode(bytes: Uint8Array): Promise<BinaryNode>
  readonly proto: {
    readonly HandshakeMessage: Codec<{
      readonly clientHello: { readonly ephemeral: Uint8Array }
      readonly clientFinish: { readonly static: Uint8Array; readonly payload: Uint8Array }
    }>
    readonly ClientPayload: Codec<{
      readonly username: { toString(): string }
      readonly device: number
      readonly devicePairingData?: { readonly eIdent?: Uint8Array } | null
    }>
    readonly ADVDeviceIdentity: Codec<object>
    readonly ADVSignedDeviceIdentity: Codec<{ readonly deviceSignature: Uint8Array }>
    readonly ADVSignedDeviceIdentityHMAC: Codec<object>
    readonly Message: Codec<DecryptedMessage>
    readonly SyncdPatch: Codec<Patch>
    readonly SyncActionData: Codec<Action>
  }
  readonly Curve: {
    generateKeyPair(): Pair
    sharedKey(own: Uint8Array, other: Uint8Array): Uint8Array
    sign(own: Uint8Array, bytes: Uint8Array): Uint8Array
    verify(other: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean
  }
  hkdf(key: Uint8Array, length: number, options: { salt?: Uint8Array; info?: string }): Uint8Array
  derivePairingCodeKey(code: string, salt: Uint8Array): Promise<Buffer>
  initAuthCreds(): Identity
  addTransactionCapability(keys: object, log: object, options: object): TransactionalKeys
  generateSignalPubKey(key: Uint8Array): Buffer
  encodeWAMessage(content: object): Uint8Array
  unpadRandomMax16(bytes: Uint8Array): Uint8Array
  normalizeMessageContent(content: DecryptedMessage): DecryptedMessage | undefined
  downloadContentFromMessage(file: object, type: string, options: object): Promise<AsyncIterable<Buffer>>
  prepareWAMessageMedia(content: object, options: object): Promise<Content>
  readonly DEFAULT_CONNECTION_CONFIG: { readonly makeSignalRepository: (auth: object, log: object) => Signal }
}

/** @param folder installation folder of the library */
export const openLibrary = async (folder: string): Promise<Library> => {
  const modules = join(folder, 'node_modules')
  await restoreSessionsOnFailure(modules)
  // The version is fixed, so the types match.
  return (await import(pathToFileURL(join(modules, 'baileys/lib/index.js')).href)) as Library
}

const silent = { level: 'silent', trace() {}, debug() {}, info() {}, warn() {}, error() {} }
export const silentLogger = { ...silent, child: () => silentLogger }
