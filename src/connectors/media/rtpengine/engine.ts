import { randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { MediaEngine } from '../../port.ts'
import { done, refused } from '../answer.ts'
import { digitOf } from '../codec/event.ts'
import { RtpengineCall } from './call.ts'
import { connectNg } from './ng.ts'

export type RtpengineSettings = {
  /** Its `listen-ng`. */
  readonly address: string
  readonly port: number
  /** Where we listen for what its `dtmf-log-dest` tells. */
  readonly dtmf: { readonly address: string; readonly port: number }
  /** Its `recording-dir`, as this machine sees it; with `recording-method=pcap` and `recording-format=raw`. */
  readonly recordings: string
  readonly calls: number
  readonly silenceSeconds?: number
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** A line of rtpengine's log of keys, as it sends it by UDP. */
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
 * Media in rtpengine (10.5 and later), a daemon in C with a path through the kernel: for those who outgrow the threads of this process. It
 * needs one on a machine that shares a folder with this one, as recordings are made of its captures.
 * @throws Error when it does not answer
 */
export const startRtpengineEngine = async (settings: RtpengineSettings): Promise<MediaEngine> => {
  const ng = await connectNg(settings.address, settings.port)
  const calls = new Map<string, RtpengineCall>()
  const keys = createSocket(isIPv6(settings.dtmf.address) ? 'udp6' : 'udp4')
  keys.on('message', (datagram, from) => {
    if (from.address !== settings.address) return
    const key = readKey(datagram.toString())
    if (key) calls.get(key.call)?.dtmf(key.leg, key.digit)
  })
  try {
    await ng.ask('ping', {})
    keys.bind(settings.dtmf.port, settings.dtmf.address)
    await once(keys, 'listening')
  } catch (error) {
    ng.close()
    keys.close()
    throw error
  }
  return {
    openCall: async (events) => {
      if (calls.size >= settings.calls)
        return refused('full', `all ${settings.calls} calls that this server takes at a time are taken`)
      const id = randomUUID()
      const call = new RtpengineCall({
        ng,
        id,
        events,
        silenceSeconds: settings.silenceSeconds ?? 60,
        recordings: settings.recordings,
        ended: () => calls.delete(id),
      })
      calls.set(id, call)
      return done(call.port)
    },
    state: () => ({ calls: calls.size, room: settings.calls }),
    close: async () => {
      await Promise.all([...calls.values()].map(({ port }) => port.close()))
      ng.close()
      keys.close()
    },
  }
}
