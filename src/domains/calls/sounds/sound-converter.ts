import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { converterIdleMs, soundConversionMs } from '../limits.ts'
import type { Conversion, ConversionRequest } from './conversion.ts'
import { UnusableSound } from './unusable-sound.ts'

/** Reply of the thread. `fault`: of the file; `error`: of the file system or a bug. */
export type ConversionReply =
  | { readonly conversion: Conversion }
  | { readonly fault: { readonly code: UnusableSound['code']; readonly reason: string } }
  | { readonly error: string }

export type SoundConverter = {
  /**
   * Converts a WAV or MP3 file to µ-law in a thread, one file at a time, accounts in turn.
   * @throws UnusableSound for a file that is no such sound, Error if it cannot be read or written
   */
  convert(account: string, request: ConversionRequest): Promise<Conversion>
  close(): Promise<void>
}

/** The thread starts with the first conversion, and ends when idle. */
export const makeSoundConverter = (): SoundConverter => {
  const turns = makeFairLimiter({ perKey: 1, total: 1 })
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  const end = async (): Promise<void> => {
    clearTimeout(idle)
    const ending = worker
    worker = null
    await ending?.terminate()
  }

  const ask = async (request: ConversionRequest): Promise<ConversionReply> => {
    worker ??= new Worker(new URL('./conversion-worker.ts', import.meta.url), { name: 'sounds' }).on('error', () => {})
    const asked = worker
    // The thread keeps the process alive only while it works.
    asked.ref()
    asked.postMessage(request)
    const late = AbortSignal.timeout(soundConversionMs)
    const done = new AbortController()
    const { signal } = done
    try {
      const [reply] = await Promise.race([
        once(asked, 'message', { signal }),
        once(asked, 'exit', { signal }).then(() => [{ error: 'the thread that converts sounds ended' }]),
        once(late, 'abort', { signal }).then(() => Promise.reject(late.reason)),
      ])
      return reply
    } catch {
      // The thread does not return, or ended with an error: such as no memory left.
      await end()
      const reason = late.aborted
        ? `its conversion takes over ${soundConversionMs / 1_000} s`
        : 'it cannot be converted'
      return { fault: { code: 'format', reason } }
    } finally {
      done.abort()
      asked.unref()
    }
  }

  return {
    convert: (account, request) =>
      turns.run(account, async () => {
        if (isClosed) throw new Error('the conversion of sounds has ended')
        clearTimeout(idle)
        const reply = await ask(request)
        idle = setTimeout(() => void end(), converterIdleMs).unref()
        if ('conversion' in reply) return reply.conversion
        if ('fault' in reply) throw new UnusableSound(reply.fault.code, reply.fault.reason)
        throw new Error(reply.error)
      }),
    close: async () => {
      isClosed = true
      await end()
    },
  }
}
