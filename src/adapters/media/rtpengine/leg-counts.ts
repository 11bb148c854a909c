import type { BencodeValue } from './bencode.ts'
import type { NgReply } from './ng-client.ts'

/** rtpengine's counters of a leg, for packets from its peer. */
type LegCounts = {
  readonly packets: number
  readonly bytes: number
  /** Packets of RTP and RTCP, and the time of the last one of any kind in Unix milliseconds, in whole seconds. */
  readonly allPackets: number
  readonly lastSignAt: number
  readonly codec: string
  /** Unix milliseconds, in whole seconds. */
  readonly lastAt: number
  readonly local: string
  readonly remote: string
}

const valueAt = (value: BencodeValue | undefined, ...path: readonly (string | number)[]): BencodeValue | undefined =>
  path.reduce<BencodeValue | undefined>((at, key) => {
    if (typeof at !== 'object') return undefined
    return Object.getOwnPropertyDescriptor(at, key)?.value
  }, value)

const address = (value: BencodeValue | undefined, host: string, port: string): string =>
  `${valueAt(value, host) ?? ''}:${valueAt(value, port) ?? ''}`

/** Returns the counters of the first stream of a tag's first media; null if rtpengine does not know it. */
export const countsOf = (reply: NgReply, tag: string): LegCounts | null => {
  const media = valueAt(reply, 'tags', tag, 'medias', 0)
  const stream = valueAt(media, 'streams', 0)
  if (stream === undefined) return null
  const numbersAt = (...path: readonly string[]) =>
    [0, 1].map((index) => Number(valueAt(media, 'streams', index, ...path) ?? 0))
  return {
    packets: Number(valueAt(stream, 'stats', 'packets') ?? 0),
    bytes: Number(valueAt(stream, 'stats', 'bytes') ?? 0),
    allPackets: numbersAt('stats', 'packets').reduce((sum, one) => sum + one, 0),
    lastSignAt: Math.max(...numbersAt('last packet')) * 1_000,
    codec: String(valueAt(media, 'codec') ?? ''),
    lastAt: Number(valueAt(stream, 'last packet') ?? 0) * 1_000,
    local: address(stream, 'local address', 'local port'),
    remote: address(valueAt(stream, 'endpoint'), 'address', 'port'),
  }
}
