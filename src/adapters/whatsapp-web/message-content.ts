import type { ChatCard, ChatContent, ChatInbound, ChatReferral } from '../../ports/chat-message.ts'
import type { Card, Content, ContextInfo } from './library.ts'

// Structured content of messages, in the same form as that of the Cloud API.

/** Returns those of the fields that have a text. */
const present = <Name extends string>(fields: { readonly [name in Name]: string | null | undefined }) =>
  // Only properties are left out.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value)) as { readonly [name in Name]?: string }

/** A property of a vCard, with its parameters in upper case, and its value without escapes (RFC 6350, 3.3 and 3.4). */
type Property = { readonly name: string; readonly parameters: readonly string[]; readonly value: string }

const propertiesOf = (vcard: string): Property[] =>
  vcard
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, name, parameters = '', value] = /^(?:[\w-]+\.)?([\w-]+)((?:;[^:]*)?):(.*)$/.exec(line) ?? []
      return name && value
        ? [{ name: name.toUpperCase(), parameters: parameters.split(/[;,]/).filter(Boolean), value: value.trim() }]
        : []
    })

const unescaped = (value = ''): string =>
  value.replace(/\\(.)/g, (_, one: string) => (one.toLowerCase() === 'n' ? '\n' : one)).trim()

/** The components of a structured value. */
const componentsOf = (value = ''): string[] => value.split(/(?<!\\);/).map(unescaped)

const parameterOf = ({ parameters }: Property, name: string): string | undefined =>
  parameters.find((one) => one.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)

/** A contact card (RFC 6350); `waid` is the network's id of a number. */
export const cardOf = ({ displayName, vcard }: Card): ChatCard => {
  const all = propertiesOf(vcard ?? '')
  const named = (name: string) => all.filter((one) => one.name === name)
  const [last = '', first = '', middle = ''] = componentsOf(named('N')[0]?.value)
  const [company, department] = componentsOf(named('ORG')[0]?.value)
  const org = present({ company, department, title: unescaped(named('TITLE')[0]?.value) })
  return {
    name: present({
      formatted_name: displayName || unescaped(named('FN')[0]?.value),
      first_name: first,
      middle_name: middle,
      last_name: last,
    }),
    phones: named('TEL').map((one) => ({
      phone: unescaped(one.value).replace(/^tel:/i, ''),
      ...present({ type: parameterOf(one, 'type'), wa_id: parameterOf(one, 'waid') }),
    })),
    emails: named('EMAIL').map((one) => ({
      email: unescaped(one.value),
      ...present({ type: parameterOf(one, 'type') }),
    })),
    ...(Object.keys(org).length > 0 ? { org } : {}),
  }
}

const answersOf = (json: string): { readonly [name: string]: unknown } | null => {
  try {
    const value: unknown = JSON.parse(json)
    // A non-array object has string keys.
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as { [name: string]: unknown }) : null
  } catch {
    return null
  }
}

const flowOf = ({
  body,
  nativeFlowResponseMessage,
}: NonNullable<Content['interactiveResponseMessage']>): ChatContent => {
  const { name, paramsJson: json } = nativeFlowResponseMessage ?? {}
  const answers = json ? answersOf(json) : null
  return {
    kind: 'flow',
    ...present({ name, body: body?.text }),
    ...(answers ? { answers } : present({ response_json: json })),
  }
}

/** Returns the structured content of a message; null if it has none. */
export const contentOf = (content: Content): ChatContent | null => {
  const { buttonsResponseMessage: pressed, templateButtonReplyMessage: button, listResponseMessage: row } = content
  const { contactMessage, contactsArrayMessage, interactiveResponseMessage } = content
  const cards = contactMessage ? [contactMessage] : (contactsArrayMessage?.contacts ?? [])
  if (cards.length > 0) return { kind: 'contacts', contacts: cards.map(cardOf) }
  if (button) return { kind: 'button', ...present({ text: button.selectedDisplayText, payload: button.selectedId }) }
  if (pressed?.selectedButtonId)
    return {
      ...{ kind: 'reply', type: 'button', id: pressed.selectedButtonId },
      ...present({ title: pressed.selectedDisplayText }),
    }
  const id = row?.singleSelectReply?.selectedRowId
  if (row && id)
    return { kind: 'reply', type: 'list', id, ...present({ title: row.title, description: row.description }) }
  return interactiveResponseMessage ? flowOf(interactiveResponseMessage) : null
}

/** The context of a message is within its content, whatever its kind. */
const contextOf = (content: Content): ContextInfo | null => {
  for (const part of Object.values(content))
    if (typeof part === 'object' && part !== null && 'contextInfo' in part && part.contextInfo)
      // All kinds of content have the same field (WAProto, `ContextInfo`).
      return part.contextInfo as ContextInfo
  return null
}

const referralOf = (ad: NonNullable<ContextInfo['externalAdReply']>): ChatReferral =>
  present({
    source_url: ad.sourceUrl,
    source_type: ad.sourceType,
    source_id: ad.sourceId,
    headline: ad.title,
    body: ad.body,
    thumbnail_url: ad.thumbnailUrl,
    ctwa_clid: ad.ctwaClid,
  })

/** Returns what a message refers to. */
export const referencesOf = (content: Content): Pick<ChatInbound, 'quoted' | 'referral'> => {
  const context = contextOf(content)
  const referral = context?.externalAdReply ? referralOf(context.externalAdReply) : {}
  return { quoted: context?.stanzaId || null, referral: Object.keys(referral).length > 0 ? referral : null }
}
