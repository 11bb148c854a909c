import { AsyncLocalStorage } from 'node:async_hooks'
import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { BinaryNode, Content, Library, Message, Repository } from './library.ts'
import { maxCachedMappings } from './limits.ts'

type MakeRepository = Library['DEFAULT_CONNECTION_CONFIG']['makeSignalRepository']

type Deps = {
  /** The node that contained a ciphertext. */
  nodeOf(ciphertext: Uint8Array): BinaryNode | undefined
  /** Persists a message. The acknowledgement and the key update follow. */
  handleMessage(message: Message): Promise<void>
  /** Called when the credentials were changed. */
  changed(): void
}

/**
 * The library's encryption with stronger guarantees for a process that may end at any moment.
 *
 * Outbound messages are encrypted outside the library's send transaction. That transaction commits only after sending,
 * so a used but unwritten key could be used twice. Here the key is written before anything is sent.
 *
 * Inbound messages are persisted within the transaction that advances their keys, before the acknowledgement. After a
 * crash in between, a message arrives again, is decrypted again and recognised by its id. Sender keys of groups and
 * keys shared by the phone are stored in the same transaction.
 *
 * Operations run in sequence. The library's own queue starts the next one before the previous transaction is written,
 * which loses one of the two.
 */
export const makeSignalRepository =
  (library: Library, { nodeOf, handleMessage, changed }: Deps): MakeRepository =>
  (auth, ...rest) => {
    const outside = AsyncLocalStorage.snapshot()
    const own = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, ...rest)
    const { creds, keys } = auth
    const { mappingCache } = own.lidMapping

    const queue = makeSerialQueue()
    const serialize = <T>(work: () => Promise<T>): Promise<T> => {
      if (mappingCache.size > maxCachedMappings) mappingCache.clear()
      return queue(() => outside(work))
    }

    /** Stores the application-state keys that the phone shares. */
    const persistSharedKeys = async ({ protocolMessage }: Content) => {
      for (const { keyId, keyData } of protocolMessage?.appStateSyncKeyShare?.keys ?? []) {
        if (!keyId?.keyId || !keyData) continue
        const id = Buffer.from(keyId.keyId).toString('base64')
        await keys.set({ 'app-state-sync-key': { [id]: keyData } })
        creds.myAppStateKeyId = id
        changed()
      }
    }

    const persistMessage = async (ciphertext: Uint8Array, opened: Uint8Array) => {
      const node = nodeOf(ciphertext)
      if (!node || !creds.me) return
      const { fullMessage, author } = library.decodeMessageNode(node, creds.me.id, creds.me.lid ?? '')
      const message = library.proto.Message.decode(library.unpadRandomMax16(opened))
      const content = message.deviceSentMessage?.message ?? message
      const item = content.senderKeyDistributionMessage
      if (item) await own.processSenderKeyDistributionMessage({ item, authorJid: author })
      if (fullMessage.key.fromMe === true) await persistSharedKeys(content)
      await handleMessage({ ...fullMessage, message: content })
    }

    const wrapped: Partial<Repository> = {
      encryptMessage: (input) => serialize(() => own.encryptMessage(input)),
      encryptGroupMessage: (input) => serialize(() => own.encryptGroupMessage(input)),
      getSenderKeyDistributionMessage: (input) => serialize(() => own.getSenderKeyDistributionMessage(input)),
      processSenderKeyDistributionMessage: (input) => serialize(() => own.processSenderKeyDistributionMessage(input)),
      injectE2ESession: (input) => serialize(() => own.injectE2ESession(input)),
      validateSession: (jid) => serialize(() => own.validateSession(jid)),
      deleteSession: (jids) => serialize(() => own.deleteSession(jids)),
      migrateSession: (from, to) => serialize(() => own.migrateSession(from, to)),
      decryptMessage: (input) =>
        serialize(() =>
          keys.transaction(async () => {
            const opened = await own.decryptMessage(input)
            await persistMessage(input.ciphertext, opened)
            return opened
          }, input.jid),
        ),
      decryptGroupMessage: (input) =>
        serialize(() =>
          keys.transaction(async () => {
            const opened = await own.decryptGroupMessage(input)
            await persistMessage(input.msg, opened)
            return opened
          }, input.group),
        ),
    }
    return { ...own, ...wrapped }
  }
