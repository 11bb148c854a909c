import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Corrections of library behaviour that is unsafe in a shared process, applied from outside while it is loaded.

/** Suppresses session keys in the output: the library prints them to the console when it opens or closes a session. */
export const suppressSessionLogs = (): void => {
  const { info } = console
  console.info = (...words: unknown[]) => {
    const [first] = words
    const isSession =
      typeof first === 'string' && /^(?:(?:Closing|Opening) session|Removing old closed session):/.test(first)
    if (!isSession) info(...words)
  }
}

type Session = { serialize(): object; readonly constructor: { deserialize(serialized: object): object } }
type SessionCipher = { doDecryptWhisperMessage(bytes: Uint8Array, session: Session): Promise<Uint8Array> }

/**
 * Restores a session after a failed decryption attempt. With several sessions the library tries each in turn. An
 * attempt with the wrong session advances it, so that it decrypts nothing afterwards. Signal's own library works on a
 * copy instead.
 */
export const restoreSessionsOnFailure = async (modules: string): Promise<void> => {
  const found = await import(pathToFileURL(join(modules, 'libsignal/index.js')).href)
  // Typed after the version in the lock file.
  const { prototype } = found.default.SessionCipher as { prototype: SessionCipher }
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
 * Ignores unhandled rejections from the library's own code. Some of its errors reach no handler, such as a response
 * sent after the socket has closed, and would end the process. Unhandled rejections from other code still end it.
 */
export const ignoreLibraryRejections = (): void => {
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof Error && fromLibrary.test(error.stack ?? ''))) throw error
  })
}
