import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, elements, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { fieldsIn } from './forms.ts'
import { maxDiscoveredServices } from './limits.ts'

/** Services of the server besides accounts; null where there is none or it is unknown. */
export type DiscoveredServices = {
  readonly groups: string | null
  readonly upload: string | null
  readonly uploadMax: number
}

export type DiscoInfo = {
  readonly features: ReadonlySet<string>
  readonly kinds: ReadonlySet<string>
  readonly query: XmlElement
}

/** Queries an entity's identity and features (XEP-0030); null when it does not answer. */
export const infoOf = async (wire: Wire, to: string): Promise<DiscoInfo | null> => {
  const answer = await wire.request(xml('iq', '', { type: 'get', to }, xml('query', ns.discoInfo)))
  const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.discoInfo)
  if (!query) return null
  const features = new Set(elements(query, 'feature').map(({ attrs }) => attrs.var ?? ''))
  const kinds = new Set(elements(query, 'identity').map(({ attrs }) => `${attrs.category}/${attrs.type}`))
  return { features, kinds, query }
}

/** Discovers the services of the server (XEP-0030); successful results are cached. */
export const discoverServices = ({
  domain,
  groups,
  upload,
}: XmppSettings): ((wire: Wire) => Promise<DiscoveredServices>) => {
  let found: DiscoveredServices | null = null
  return async (wire) => {
    if (found) return found
    const answer = await wire.request(xml('iq', '', { type: 'get', to: domain }, xml('query', ns.discoItems)))
    const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.discoItems)
    const items = query ? elements(query, 'item').map(({ attrs }) => attrs.jid ?? '') : []
    const candidates = [...new Set([domain, ...items, ...[groups, upload].flatMap((one) => one ?? [])])].slice(
      0,
      maxDiscoveredServices,
    )
    const infos = await Promise.all(candidates.map(async (jid) => [jid, await infoOf(wire, jid)] as const))
    const uploads = infos.find(([jid, info]) => (upload ? jid === upload : info?.features.has(ns.upload)))
    const rooms = infos.find(([, info]) => info?.kinds.has('conference/text') && info.features.has(ns.muc))
    const maxSize = uploads?.[1] && Number(fieldsIn(uploads[1].query).get('max-file-size'))
    const services = {
      groups: groups ?? rooms?.[0] ?? null,
      upload: uploads?.[0] ?? null,
      uploadMax: maxSize || Number.MAX_SAFE_INTEGER,
    }
    if (query) found = services
    return services
  }
}
