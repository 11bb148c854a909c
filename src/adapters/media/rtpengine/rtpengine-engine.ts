import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { digitOf } from '@trunkline/rtp/telephone-event.ts'
import type { MediaCall, MediaEngine } from '../../../ports/media.ts'
import { done, refused } from '../result.ts'
import { connectNg } from './ng-client.ts'
import { openProcessedCall } from './processed-call.ts'
import { RtpengineCall } from './rtpengine-call.ts'

export type RtpengineSettings = {
  /** Address and port of rtpengine's `listen-ng`. */
  readonly address: string
  readonly port: number
  /** Address and port of ours for rtpengine's `dtmf-log-dest`. */
  readonly dtmf: { readonly address: string; readonly port: number }
  /** rtpengine's `recording-dir` as this machine sees it. Needs `recording-method=pcap` and `recording-format=raw`. */
  readonly recordings: string
  readonly calls: number
  /** The embedded engine, at an address that rtpengine reaches. It processes calls that ask for it. */
  readonly processor: MediaEngine
  readonly silenceSeconds?: number
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Parses a line of rtpengine's DTMF log, which comes by UDP. */
const readKey = (text: string): { call: string; leg: string; digit: string } | null => {
  try {
    const line: unknown = JSON.parse(text)
    if (!isRecord(line) || line.type !== 'DTMF' || typeof line.event !== 'number') return null
    const digit = digitOf(line.event)
    return digit === null ? null : { call: String(line.callid), leg: String(line.source_tag), digit }
  } catch {
    return null
  }
}

/**
 * Starts the media engine for rtpengine (10.5 and later), a C daemon that forwards media in the kernel. It serves
 * installations that outgrow the threads of this process. The daemon's machine must share a folder with this one, as
 * recordings are made from its captures.
 * @throws Error if rtpengine does not answer
 */
export const startRtpengineEngine = async (settings: RtpengineSettings): Promise<MediaEngine> => {
  const ng = await connectNg(settings.address, settings.port)
  const calls = new Map<string, RtpengineCall>()
  const processed = new Set<MediaCall>()
  const keys = createSocket(isIPv6(settings.dtmf.address) ? 'udp6' : 'udp4')
  keys.on('message', (datagram, from) => {
    if (from.address !== settings.address) return
    const key = readKey(datagram.toString())
    if (key) calls.get(key.call)?.dtmf(key.leg, key.digit)
  })
  try {
    await ng.request('ping', {})
    keys.bind(settings.dtmf.port, settings.dtmf.address)
    await once(keys, 'listening')
  } catch (error) {
    ng.close()
    keys.close()
    throw error
  }
  return {
    openCall: async (events, options) => {
      if (calls.size + processed.size >= settings.calls)
        return refused('full', `the limit of ${settings.calls} concurrent calls of this server is reached`)
      const { silenceSeconds = 60, recordings, processor } = settings
      if (options?.isProcessed) {
        const ended = () => void (opened.outcome === 'done' && processed.delete(opened.value))
        const opened = await openProcessedCall(events, { ng, silenceSeconds, recordings, processor, ended })
        if (opened.outcome === 'done') processed.add(opened.value)
        return opened
      }
      const id = randomUUID()
      const call = new RtpengineCall({
        ng,
        id,
        events,
        silenceSeconds,
        recordings,
        ended: () => calls.delete(id),
      })
      calls.set(id, call)
      return done(call.port)
    },
    state: () => ({ calls: calls.size + processed.size, capacity: settings.calls }),
    close: async () => {
      await Promise.all([...[...calls.values()].map(({ port }) => port), ...processed].map((call) => call.close()))
      await settings.processor.close()
      ng.close()
      keys.close()
    },
  }
}
