import type { Outbound } from '../../../platform/lib/outbound.ts'
import type { MediaLeg, MediaStream } from '../../../ports/media.ts'
import type { MediaStreamEnd, MediaStreamOptions } from '../../../ports/media-stream.ts'
import { resolveStreamTarget } from './stream-target.ts'

/** A stream as a program asks for it. `headers`: of the handshake, a signature over the URL and the User-Agent. */
export type StreamRequest = Omit<MediaStreamOptions, 'target'> & {
  /** `wss:`, or `ws:` where private addresses are allowed. */
  readonly url: string
}

/**
 * The end of a stream. `seconds` since it opened, 0 if it did not. `error_code`: null for an end that is no fault;
 * `forbidden_address` and `stream_unreachable` before it opened, `stream_broken` after it, `stream_refused` by the media
 * engine, as for a second two-way stream of the leg.
 */
export type StreamResult = {
  readonly reason: MediaStreamEnd['reason'] | 'forbidden' | 'refused'
  /** Close code of the WebSocket; null if there was none. */
  readonly code: number | null
  readonly seconds: number
  readonly error_code: 'forbidden_address' | 'stream_unreachable' | 'stream_broken' | 'stream_refused' | null
  /** For people. */
  readonly detail: string
}

export type StreamDeps = {
  /** The client for addresses of the account. */
  readonly outbound: Pick<Outbound, 'resolve'>
  readonly leg: Pick<MediaLeg, 'openStream'>
}

/** Learns how a stream goes. All of it is optional. */
export type StreamObserver = {
  /** The stream is being opened. Keys can be sent to it, and it can be stopped. */
  begun?(stream: MediaStream): void
  opened?(): void
  /** Audio was dropped for the first time: `sent` to the server, or `received` from it. */
  dropped?(of: 'sent' | 'received'): void
}

const errorCodes: Readonly<Record<MediaStreamEnd['reason'], StreamResult['error_code']>> = {
  closed: null,
  stopped: null,
  time: null,
  call_ended: null,
  unreachable: 'stream_unreachable',
  broken: 'stream_broken',
  protocol: 'stream_broken',
}

const unopened = { code: null, seconds: 0 } as const

/** Opens a stream and waits for its end, which no fault prevents. A broken stream is not opened again, as the server has lost its state. */
export const runStream = async (
  { outbound, leg }: StreamDeps,
  { url, ...options }: StreamRequest,
  observer: StreamObserver = {},
): Promise<StreamResult> => {
  const resolved = await resolveStreamTarget(outbound, url)
  if ('fault' in resolved) {
    const detail = `url ${resolved.fault}`
    return resolved.isForbidden
      ? { ...unopened, reason: 'forbidden', error_code: 'forbidden_address', detail }
      : { ...unopened, reason: 'unreachable', error_code: 'stream_unreachable', detail }
  }
  const ended = Promise.withResolvers<MediaStreamEnd>()
  const begun = await leg.openStream(
    { ...options, target: resolved.target },
    { opened: () => observer.opened?.(), dropped: (of) => observer.dropped?.(of), ended: ended.resolve },
  )
  if (begun.outcome === 'refused')
    return { ...unopened, reason: 'refused', error_code: 'stream_refused', detail: begun.reason }
  observer.begun?.(begun.value)
  const { reason, code, seconds, detail } = await ended.promise
  return { reason, code, seconds, error_code: errorCodes[reason], detail }
}
