import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// What the library does that it may not do in a process with others, or not at all; mended from outside, while it is loaded.

/**
 * The library prints the keys of a session when it opens or closes one; it writes to the console and knows no other way.
 */
export const muteSessions = (): void => {
  const { info } = console
  console.info = (...words: unknown[]) => {
    const [first] = words
    const isSession =
      typeof first === 'string' && /^(?:(?:Closing|Opening) session|Removing old closed session):/.test(first)
    if (!isSession) info(...words)
  }
}

type Session = { serialize(): object; readonly constructor: { deserialize(kept: object): object } }
type Cipher = { doDecryptWhisperMessage(bytes: Uint8Array, session: Session): Promise<Uint8Array> }

/**
 * With several sessions the library tries them in turn, and a wrong one is moved on by the attempt: it opens nothing of its own any
 * more. Here a session is after a failed attempt as it was before (as in Signal's own library, which works on a copy).
 */
export const keepSessionsWhole = async (modules: string): Promise<void> => {
  const found = await import(pathToFileURL(join(modules, 'libsignal/index.js')).href)
  // Of the version in the lock file.
  const { prototype } = found.default.SessionCipher as { prototype: Cipher }
  const { doDecryptWhisperMessage: attempt } = prototype
  prototype.doDecryptWhisperMessage = async function (bytes, session) {
    const before = session?.serialize()
    try {
      return await attempt.call(this, bytes, session)
    } catch (error) {
      if (before) Object.assign(session, session.constructor.deserialize(before))
      throw error
    }
  }
}

const fromLibrary = /[\\/]node_modules[\\/](?:baileys|libsignal)[\\/]/

/**
 * The library waits for nobody to hear of some of its errors, such as an answer that it gives when the socket has just gone: they would
 * end the process, and all that others do in it. Those of everybody else do so still.
 */
export const outliveRejections = (): void => {
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof Error && fromLibrary.test(error.stack ?? ''))) throw error
  })
}
