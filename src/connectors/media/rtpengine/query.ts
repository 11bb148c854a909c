import type { Bencoded } from '../codec/bencode.ts'
import type { Reply } from './ng.ts'

/** What rtpengine counts of a leg: what came from its peer. */
type Counts = {
  readonly packets: number
  readonly bytes: number
  readonly codec: string
  /** Unix milliseconds, by whole seconds. */
  readonly lastAt: number
  readonly local: string
  readonly remote: string
}

const within = (value: Bencoded | undefined, ...path: readonly (string | number)[]): Bencoded | undefined =>
  path.reduce<Bencoded | undefined>((at, key) => {
    if (typeof at !== 'object') return undefined
    return Object.getOwnPropertyDescriptor(at, key)?.value
  }, value)

const address = (value: Bencoded | undefined, host: string, port: string): string =>
  `${within(value, host) ?? ''}:${within(value, port) ?? ''}`

/** The first stream of the first media of a tag; null when rtpengine does not know it. */
export const countsOf = (reply: Reply, tag: string): Counts | null => {
  const media = within(reply, 'tags', tag, 'medias', 0)
  const stream = within(media, 'streams', 0)
  if (stream === undefined) return null
  return {
    packets: Number(within(stream, 'stats', 'packets') ?? 0),
    bytes: Number(within(stream, 'stats', 'bytes') ?? 0),
    codec: String(within(media, 'codec') ?? ''),
    lastAt: Number(within(stream, 'last packet') ?? 0) * 1_000,
    local: address(stream, 'local address', 'local port'),
    remote: address(within(stream, 'endpoint'), 'address', 'port'),
  }
}
