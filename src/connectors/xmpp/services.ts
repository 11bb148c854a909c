import { ns } from './codec/names.ts'
import { child, elements, type Xml, xml } from './codec/xml.ts'
import { fieldsIn } from './forms.ts'
import type { XmppSettings } from './settings.ts'
import type { Wire } from './wire.ts'

/** What the server has beside accounts; null where there is none, or it did not say. */
export type Services = { readonly groups: string | null; readonly upload: string | null; readonly uploadMax: number }

/** Of all that a server names, so many are asked what they are. */
const mostAsked = 30

export type Info = { readonly features: ReadonlySet<string>; readonly kinds: ReadonlySet<string>; readonly query: Xml }

/** What an entity says of itself (XEP-0030); null when it does not. */
export const infoOf = async (wire: Wire, to: string): Promise<Info | null> => {
  const answer = await wire.request(xml('iq', '', { type: 'get', to }, xml('query', ns.discoInfo)))
  const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.discoInfo)
  if (!query) return null
  const features = new Set(elements(query, 'feature').map(({ attrs }) => attrs.var ?? ''))
  const kinds = new Set(elements(query, 'identity').map(({ attrs }) => `${attrs.category}/${attrs.type}`))
  return { features, kinds, query }
}

/** Finds the services by asking the server (XEP-0030), once while it answers. */
export const makeServices = ({ domain, groups, upload }: XmppSettings): ((wire: Wire) => Promise<Services>) => {
  let found: Services | null = null
  return async (wire) => {
    if (found) return found
    const answer = await wire.request(xml('iq', '', { type: 'get', to: domain }, xml('query', ns.discoItems)))
    const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.discoItems)
    const items = query ? elements(query, 'item').map(({ attrs }) => attrs.jid ?? '') : []
    const asked = [...new Set([domain, ...items, ...[groups, upload].flatMap((one) => one ?? [])])].slice(0, mostAsked)
    const infos = await Promise.all(asked.map(async (jid) => [jid, await infoOf(wire, jid)] as const))
    const uploads = infos.find(([jid, info]) => (upload ? jid === upload : info?.features.has(ns.upload)))
    const rooms = infos.find(([, info]) => info?.kinds.has('conference/text') && info.features.has(ns.muc))
    const told = uploads?.[1] && Number(fieldsIn(uploads[1].query).get('max-file-size'))
    const services = {
      groups: groups ?? rooms?.[0] ?? null,
      upload: uploads?.[0] ?? null,
      uploadMax: told || Number.MAX_SAFE_INTEGER,
    }
    if (query) found = services
    return services
  }
}
