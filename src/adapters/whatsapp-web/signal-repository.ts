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
      const told = library.proto.Message.decode(library.unpadRandomMax16(opened))
      const content = told.deviceSentMessage?.message ?? told
      const item = content.senderKeyDistributionMessage
      if (item) await own.processSenderKeyDistributionMessage({ item, authorJid: author })
      if (fullMessage.key.fromMe === true) await persistSharedKeys(content)
      await handleMessage({ ...fullMessage, message: content })
    }

    const wrapped: Partial<Repository> = {
      encryptMessage: (given) => serialize(() => own.encryptMessage(given)),
      encryptGroupMessage: (given) => serialize(() => own.encryptGroupMessage(given)),
      getSenderKeyDistributionMessage: (given) => serialize(() => own.getSenderKeyDistributionMessage(given)),
      processSenderKeyDistributionMessage: (given) => serialize(() => own.processSenderKeyDistributionMessage(given)),
      injectE2ESession: (given) => serialize(() => own.injectE2ESession(given)),
      validateSession: (jid) => serialize(() => own.validateSession(jid)),
      deleteSession: (jids) => serialize(() => own.deleteSession(jids)),
      migrateSession: (from, to) => serialize(() => own.migrateSession(from, to)),
      decryptMessage: (given) =>
        serialize(() =>
          keys.transaction(async () => {
            const opened = await own.decryptMessage(given)
            await persistMessage(given.ciphertext, opened)
            return opened
          }, given.jid),
        ),
      decryptGroupMessage: (given) =>
        serialize(() =>
          keys.transaction(async () => {
            const opened = await own.decryptGroupMessage(given)
            await persistMessage(given.msg, opened)
            return opened
          }, given.group),
        ),
    }
    return { ...own, ...wrapped }
  }
