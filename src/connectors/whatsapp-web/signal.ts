import { AsyncLocalStorage } from 'node:async_hooks'
import type { Library, Message, Node, Repository } from './library.ts'

type MakeRepository = Library['DEFAULT_CONNECTION_CONFIG']['makeSignalRepository']

type Tools = {
  /** The node that a ciphertext came in. */
  nodeOf(ciphertext: Uint8Array): Node | undefined
  /** Keeps what came in. It is answered, and its keys are moved on, only afterwards. */
  take(message: Message): Promise<void>
}

/**
 * The library's encryption with two promises more, for the end of the process at any moment.
 *
 * What is to be sent is encrypted outside the transaction in which the library sends it: that one ends only after the sending,
 * and a key that was used but not written would be used twice. Here it is written before anything is sent.
 *
 * What came in is kept within the transaction that moves its keys on, before these are written and before the network is told
 * that we have it: what ends in between comes again, is opened again, and is known by its id.
 */
export const makeSignal =
  (library: Library, { nodeOf, take }: Tools): MakeRepository =>
  (auth, ...rest) => {
    const outside = AsyncLocalStorage.snapshot()
    const own = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, ...rest)
    const { creds, keys } = auth

    const keep = async (ciphertext: Uint8Array, opened: Uint8Array) => {
      const node = nodeOf(ciphertext)
      if (!node || !creds.me) return
      const { fullMessage } = library.decodeMessageNode(node, creds.me.id, creds.me.lid ?? '')
      const content = library.proto.Message.decode(library.unpadRandomMax16(opened))
      await take({ ...fullMessage, message: content.deviceSentMessage?.message ?? content })
    }

    const wrapped: Partial<Repository> = {
      encryptMessage: (given) => outside(() => own.encryptMessage(given)),
      encryptGroupMessage: (given) => outside(() => own.encryptGroupMessage(given)),
      getSenderKeyDistributionMessage: (given) => outside(() => own.getSenderKeyDistributionMessage(given)),
      injectE2ESession: (given) => outside(() => own.injectE2ESession(given)),
      validateSession: (jid) => outside(() => own.validateSession(jid)),
      migrateSession: (from, to) => outside(() => own.migrateSession(from, to)),
      decryptMessage: (given) =>
        keys.transaction(async () => {
          const opened = await own.decryptMessage(given)
          await keep(given.ciphertext, opened)
          return opened
        }, given.jid),
      decryptGroupMessage: (given) =>
        keys.transaction(async () => {
          const opened = await own.decryptGroupMessage(given)
          await keep(given.msg, opened)
          return opened
        }, given.group),
    }
    return { ...own, ...wrapped }
  }
