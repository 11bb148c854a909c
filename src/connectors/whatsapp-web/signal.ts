import { AsyncLocalStorage } from 'node:async_hooks'
import type { Content, Library, Message, Node, Repository } from './library.ts'

type MakeRepository = Library['DEFAULT_CONNECTION_CONFIG']['makeSignalRepository']

/** Addresses that the library remembers beside the keys: it would for three days, however many come. */
const mostMapped = 20_000

type Tools = {
  /** The node that a ciphertext came in. */
  nodeOf(ciphertext: Uint8Array): Node | undefined
  /** Keeps what came in. It is answered, and its keys are moved on, only afterwards. */
  take(message: Message): Promise<void>
  /** The credentials were changed. */
  changed(): void
}

/**
 * The library's encryption with more promises, for the end of the process at any moment.
 *
 * What is to be sent is encrypted outside the transaction in which the library sends it: that one ends only after the sending,
 * and a key that was used but not written would be used twice. Here it is written before anything is sent.
 *
 * What came in is kept within the transaction that moves its keys on, before these are written and before the network is told
 * that we have it: what ends in between comes again, is opened again, and is known by its id. The key of a group that comes
 * in a message is kept with it, and so are the keys that the phone shares.
 *
 * One thing at a time: the library's own queue lets the next begin before the transaction of the one before is written, and
 * then one of the two is forgotten.
 */
export const makeSignal =
  (library: Library, { nodeOf, take, changed }: Tools): MakeRepository =>
  (auth, ...rest) => {
    const outside = AsyncLocalStorage.snapshot()
    const own = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, ...rest)
    const { creds, keys } = auth
    const { mappingCache } = own.lidMapping

    let turn: Promise<unknown> = Promise.resolve()
    const alone = <T>(work: () => Promise<T>): Promise<T> => {
      if (mappingCache.size > mostMapped) mappingCache.clear()
      const done = turn.then(() => outside(work))
      turn = done.catch(() => {})
      return done
    }

    /** Of what the phone keeps with its devices. */
    const keepShared = async ({ protocolMessage }: Content) => {
      for (const { keyId, keyData } of protocolMessage?.appStateSyncKeyShare?.keys ?? []) {
        if (!keyId?.keyId || !keyData) continue
        const id = Buffer.from(keyId.keyId).toString('base64')
        await keys.set({ 'app-state-sync-key': { [id]: keyData } })
        creds.myAppStateKeyId = id
        changed()
      }
    }

    const keep = async (ciphertext: Uint8Array, opened: Uint8Array) => {
      const node = nodeOf(ciphertext)
      if (!node || !creds.me) return
      const { fullMessage, author } = library.decodeMessageNode(node, creds.me.id, creds.me.lid ?? '')
      const told = library.proto.Message.decode(library.unpadRandomMax16(opened))
      const content = told.deviceSentMessage?.message ?? told
      const item = content.senderKeyDistributionMessage
      if (item) await own.processSenderKeyDistributionMessage({ item, authorJid: author })
      if (fullMessage.key.fromMe === true) await keepShared(content)
      await take({ ...fullMessage, message: content })
    }

    const wrapped: Partial<Repository> = {
      encryptMessage: (given) => alone(() => own.encryptMessage(given)),
      encryptGroupMessage: (given) => alone(() => own.encryptGroupMessage(given)),
      getSenderKeyDistributionMessage: (given) => alone(() => own.getSenderKeyDistributionMessage(given)),
      processSenderKeyDistributionMessage: (given) => alone(() => own.processSenderKeyDistributionMessage(given)),
      injectE2ESession: (given) => alone(() => own.injectE2ESession(given)),
      validateSession: (jid) => alone(() => own.validateSession(jid)),
      deleteSession: (jids) => alone(() => own.deleteSession(jids)),
      migrateSession: (from, to) => alone(() => own.migrateSession(from, to)),
      decryptMessage: (given) =>
        alone(() =>
          keys.transaction(async () => {
            const opened = await own.decryptMessage(given)
            await keep(given.ciphertext, opened)
            return opened
          }, given.jid),
        ),
      decryptGroupMessage: (given) =>
        alone(() =>
          keys.transaction(async () => {
            const opened = await own.decryptGroupMessage(given)
            await keep(given.msg, opened)
            return opened
          }, given.group),
        ),
    }
    return { ...own, ...wrapped }
  }
