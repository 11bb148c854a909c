import { isIP } from 'node:net'
import type { MediaCall, MediaEngine, MediaLeg, MediaResult } from '../../../ports/media.ts'
import { maxHostNames } from '../limits.ts'

/** Returns the addresses of a host name. @throws Error if no name server answers */
type Resolve = (name: string) => Promise<readonly string[]>

const connection = /^(c=IN IP([46]) )([^\s/]+)/gm

/** Returns a session description with addresses in place of host names (RFC 8866, 5.7). Unknown names stay. */
export const withoutHostNames = async (description: string, resolve: Resolve): Promise<string> => {
  const found = new Map<string, string>()
  for (const [, , family, name = ''] of description.matchAll(connection)) {
    if (isIP(name) > 0 || found.size >= maxHostNames) continue
    const addresses = await resolve(name.toLowerCase()).catch(() => [])
    const address = addresses.find((one) => isIP(one) === Number(family))
    if (address !== undefined) found.set(name, address)
  }
  if (found.size === 0) return description
  return description.replace(connection, (all, start: string, _, name: string) => {
    const address = found.get(name)
    return address === undefined ? all : `${start}${address}`
  })
}

const legWith = (leg: MediaLeg, resolve: Resolve): MediaLeg => ({
  ...leg,
  accept: async (answer, source) => leg.accept(await withoutHostNames(answer, resolve), source),
  renegotiate: async (offer) => leg.renegotiate(await withoutHostNames(offer, resolve)),
})

const callWith = (call: MediaCall, resolve: Resolve): MediaCall => ({
  ...call,
  addLeg: async (options): Promise<MediaResult<MediaLeg>> => {
    // Browsers name addresses, and what they name must not make us ask name servers.
    if (options.kind === 'webrtc') return call.addLeg(options)
    const offer = options.offer === null ? null : await withoutHostNames(options.offer, resolve)
    const added = await call.addLeg({ ...options, offer })
    return added.outcome === 'done' ? { outcome: 'done', value: legWith(added.value, resolve) } : added
  },
})

/** An engine whose trunks may name hosts in their session descriptions: the engines take addresses alone. */
export const withHostNames = (engine: MediaEngine, resolve: Resolve): MediaEngine => ({
  ...engine,
  openCall: async (events, options) => {
    const opened = await engine.openCall(events, options)
    return opened.outcome === 'done' ? { outcome: 'done', value: callWith(opened.value, resolve) } : opened
  },
})
