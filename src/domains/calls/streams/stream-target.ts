import type { Outbound } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import type { MediaStreamTarget } from '../../../ports/media-stream.ts'

/**
 * A server of a stream with its addresses, or the reason why it is not connected to. `fault` is a predicate that follows
 * the name of the field; `isForbidden`: by our rules, else its name has no address now.
 */
export type StreamTarget =
  | { readonly target: MediaStreamTarget }
  | { readonly isForbidden: boolean; readonly fault: string }

const protocol = /^ws(?=s?:)/i

/** Faults of web addresses, in the words for those of WebSockets. */
const inWords = (fault: string): string =>
  fault
    .replace('begins with http: use https', 'begins with ws: use wss')
    .replace(
      'is not a web address such as https://example.com/path',
      'is not an address such as wss://example.com/path',
    )

/**
 * Checks the address of a server by the rules of webhooks, and resolves its name. `ws:` is allowed where `http:` is. The
 * name must not be resolved again, as it could lead elsewhere then.
 */
export const resolveStreamTarget = async (outbound: Pick<Outbound, 'resolve'>, url: string): Promise<StreamTarget> => {
  if (!protocol.test(url)) return { isForbidden: true, fault: 'does not begin with wss' }
  try {
    const { target, addresses } = await outbound.resolve(url.replace(protocol, 'http'))
    return { target: { ...target, addresses } }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return { isForbidden: error.code === 'refused', fault: inWords(error.message) }
  }
}
