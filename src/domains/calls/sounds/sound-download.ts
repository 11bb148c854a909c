import { createWriteStream } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { maxSoundBytes, soundFetchMs, soundFreshSeconds } from '../limits.ts'
import type { SoundOrigin } from './sound-cache.ts'
import { failed, SoundError } from './sound-error.ts'

/** Returns the origin of a response: how long it is fresh, and what revalidates it (RFC 9111, 4.2 and 5.2.2). */
export const originOf = (headers: IncomingHttpHeaders, now: number): SoundOrigin => {
  const directives = (headers['cache-control'] ?? '').toLowerCase().split(',')
  const has = (name: string) => directives.some((one) => one.trim() === name)
  const age = directives
    .map((one) => /^\s*max-age\s*=\s*"?(\d{1,10})"?\s*$/.exec(one)?.[1])
    .find((one) => one !== undefined)
  const seconds =
    has('no-store') || has('no-cache')
      ? 0
      : Math.min(Number(age ?? soundFreshSeconds.default), soundFreshSeconds.longest)
  const isStored = !has('no-store')
  return {
    etag: isStored ? (headers.etag ?? null) : null,
    lastModified: isStored ? (headers['last-modified'] ?? null) : null,
    expiresAt: now + seconds * 1_000,
  }
}

const conditionsOf = (known: SoundOrigin | null): Record<string, string> => ({
  ...(known?.etag ? { 'if-none-match': known.etag } : {}),
  ...(known?.lastModified ? { 'if-modified-since': known.lastModified } : {}),
})

const failureOf = (error: unknown, signal: AbortSignal): SoundError => {
  if (error instanceof SoundError) return error
  if (error instanceof OutboundError && error.code === 'refused')
    return failed('forbidden_address', `its URL ${error.message}`)
  if (signal.aborted || (error instanceof OutboundError && error.code === 'timeout'))
    return failed('timeout', `its URL did not answer within ${soundFetchMs / 1_000} s`)
  return failed('unreachable', error instanceof Error ? error.message : String(error))
}

/** Writes a response to a file. @throws SoundError beyond the limit of bytes */
const store = async (body: AsyncIterable<Buffer>, file: string, signal: AbortSignal): Promise<void> => {
  let size = 0
  const bounded = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      size += piece.length
      if (size > maxSoundBytes) throw failed('too_large', `its URL has more than ${maxSoundBytes} bytes`)
      yield piece
    }
  }
  await pipeline(body, bounded, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal })
}

/**
 * Downloads a sound to a file, in at most 15 s. Redirects are not followed, as for webhooks.
 * @param known origin of the sound that the caller has; null if it has none
 * @returns the origin, and whether the sound has changed
 * @throws SoundError
 */
export const downloadSound = async (
  outbound: Outbound,
  url: string,
  known: SoundOrigin | null,
  file: string,
  closing: AbortSignal,
): Promise<{ readonly origin: SoundOrigin; readonly isChanged: boolean }> => {
  const signal = AbortSignal.any([AbortSignal.timeout(soundFetchMs), closing])
  try {
    const get = { url, headers: conditionsOf(known), idleMs: soundFetchMs, maxRedirects: 0, signal }
    const { status, length, headers, body } = await outbound.get(get)
    const origin = originOf(headers, Date.now())
    if (status === 304 && known) {
      body.destroy()
      const { etag, lastModified } = known
      return {
        origin: { ...origin, etag: origin.etag ?? etag, lastModified: origin.lastModified ?? lastModified },
        isChanged: false,
      }
    }
    if (status !== 200) {
      body.destroy()
      throw failed(
        'status',
        `its URL answered ${status}${status >= 300 && status < 400 ? ': redirects are not followed' : ''}`,
      )
    }
    if (length !== null && length > maxSoundBytes) {
      body.destroy()
      throw failed('too_large', `its URL has ${length} bytes; ${maxSoundBytes} are allowed`)
    }
    await store(body, file, signal)
    return { origin, isChanged: true }
  } catch (error) {
    throw failureOf(error, signal)
  }
}
