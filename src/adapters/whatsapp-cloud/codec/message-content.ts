import type { ChatCard, ChatContent, ChatInbound, ChatReferral } from '../../../ports/chat-message.ts'
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './fields.ts'

// Content of received messages (Cloud API, "Webhooks", messages).

/** Types whose content is a file. */
const fileTypes = { image: 'image', sticker: 'image', video: 'video', audio: 'audio', document: 'document' } as const

/** Returns the kind of file of a message type; undefined for other content. */
export const fileTypeOf = (type: string) => Object.entries(fileTypes).find(([name]) => name === type)?.[1]

/** A message names the property that holds its content; it must be an own property. */
export const bodyOf = (type: string, message: Fields): Fields =>
  fieldsOf(Object.hasOwn(message, type) ? message[type] : null)

/** A non-empty string, or null. Ids may be written as numbers. */
const wordOf = (value: unknown): string | null => textOf(typeof value === 'number' ? String(value) : value)

/** Returns those of the named fields that have a text. */
const wordsOf = <Name extends string>(fields: Fields, names: readonly Name[]): { readonly [name in Name]?: string } => {
  const found = names.flatMap((name) => {
    const word = wordOf(fields[name])
    return word === null ? [] : [[name, word] as const]
  })
  // The keys are of `names`.
  return Object.fromEntries(found) as { [name in Name]?: string }
}

const orNull = <T extends object>(fields: T): T | null => (Object.keys(fields).length > 0 ? fields : null)

const nameFields = ['formatted_name', 'first_name', 'middle_name', 'last_name'] as const
const orgFields = ['company', 'department', 'title'] as const

const cardOf = ({ name, phones, emails, org }: Fields): ChatCard => {
  const company = orNull(wordsOf(fieldsOf(org), orgFields))
  return {
    name: wordsOf(fieldsOf(name), nameFields),
    phones: listOf(phones).flatMap((one) => {
      const phone = wordOf(one.phone) ?? wordOf(one.wa_id)
      return phone === null ? [] : [{ phone, ...wordsOf(one, ['type', 'wa_id']) }]
    }),
    emails: listOf(emails).flatMap((one) => {
      const email = wordOf(one.email)
      return email === null ? [] : [{ email, ...wordsOf(one, ['type']) }]
    }),
    ...(company ? { org: company } : {}),
  }
}

const referralFields = [
  ...(['source_url', 'source_type', 'source_id', 'headline', 'body', 'media_type'] as const),
  ...(['image_url', 'video_url', 'thumbnail_url', 'ctwa_clid'] as const),
]

const referralOf = (referral: Fields): ChatReferral => {
  const welcome = wordOf(fieldsOf(referral.welcome_message).text)
  return { ...wordsOf(referral, referralFields), ...(welcome === null ? {} : { welcome_message: welcome }) }
}

const parsedObject = (json: string): Fields | null => {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? fieldsOf(value) : null
  } catch {
    return null
  }
}

const flowOf = (reply: Fields): ChatContent => {
  // A string of JSON; some gateways parse it.
  const given = reply.response_json ?? null
  const json = textOf(typeof given === 'string' || given === null ? given : JSON.stringify(given))
  const answers = json === null ? null : parsedObject(json)
  return {
    kind: 'flow',
    ...wordsOf(reply, ['name', 'body']),
    ...(answers ? { answers } : json === null ? {} : { response_json: json }),
  }
}

const interactiveOf = (content: Fields): ChatContent | null => {
  if (Object.hasOwn(content, 'nfm_reply')) return flowOf(fieldsOf(content.nfm_reply))
  for (const type of ['button', 'list'] as const) {
    const reply = fieldsOf(content[`${type}_reply`])
    const id = wordOf(reply.id)
    if (id !== null) return { kind: 'reply', type, id, ...wordsOf(reply, ['title', 'description']) }
  }
  return null
}

const orderOf = (order: Fields): ChatContent => ({
  kind: 'order',
  ...wordsOf(order, ['catalog_id', 'text']),
  products: listOf(order.product_items).map((item) => {
    const [quantity, price] = [numberOf(item.quantity), numberOf(item.item_price)]
    return {
      ...wordsOf(item, ['product_retailer_id', 'currency']),
      ...(quantity === null ? {} : { quantity }),
      ...(price === null ? {} : { item_price: price }),
    }
  }),
})

/** Fields of a message that are no content. */
const envelope = new Set([
  'id',
  'from',
  'from_user_id',
  'to',
  'to_user_id',
  'timestamp',
  'type',
  'context',
  'referral',
  'group_id',
])

const unsupportedOf = (type: string, message: Fields): ChatContent => ({
  kind: 'unsupported',
  type,
  payload: Object.fromEntries(Object.entries(message).filter(([name]) => !envelope.has(name))),
})

/** Cards of a message, without those that hold nothing. */
const cardsOf = (message: Fields): ChatCard[] =>
  listOf(message.contacts)
    .map(cardOf)
    .filter(({ name, phones, emails, org }) => orNull(name) || phones.length > 0 || emails.length > 0 || org)

/** Returns null where the text, the file or the pin is the whole content. Content of another form is kept as it came. */
const ownContentOf = (type: string, message: Fields, hasPinOrFile: boolean): ChatContent | null => {
  const content = bodyOf(type, message)
  switch (type) {
    case 'text':
      return typeof content.body === 'string' ? null : unsupportedOf(type, message)
    case 'system':
      return textOf(content.body) === null ? unsupportedOf(type, message) : null
    case 'button':
      return { kind: 'button', ...wordsOf(content, ['text', 'payload']) }
    case 'interactive':
      return interactiveOf(content) ?? unsupportedOf(type, message)
    case 'contacts': {
      const contacts = cardsOf(message)
      return contacts.length > 0 ? { kind: 'contacts', contacts } : unsupportedOf(type, message)
    }
    case 'order':
      return orderOf(content)
    case 'location':
      return hasPinOrFile ? null : unsupportedOf(type, message)
    default: {
      const isWhole = hasPinOrFile || textOf(content.caption) !== null
      return fileTypeOf(type) && isWhole ? null : unsupportedOf(type, message)
    }
  }
}

/** Returns the structured content of a message, and what it refers to. */
export const contentOf = (
  type: string,
  message: Fields,
  hasPinOrFile: boolean,
): Pick<ChatInbound, 'quoted' | 'product' | 'referral'> & { readonly content: ChatContent | null } => {
  const context = fieldsOf(message.context)
  return {
    content: ownContentOf(type, message, hasPinOrFile),
    quoted: textOf(context.id),
    product: orNull(wordsOf(fieldsOf(context.referred_product), ['catalog_id', 'product_retailer_id'])),
    referral: orNull(referralOf(fieldsOf(message.referral))),
  }
}

const cardText = ({ name, phones }: ChatCard): string => {
  const full = name.formatted_name ?? [name.first_name, name.last_name].filter(Boolean).join(' ')
  return [full, ...phones.map(({ phone }) => phone)].filter(Boolean).join(' ')
}

const orderText = ({ text, products }: Extract<ChatContent, { kind: 'order' }>): string => {
  const lines = products.map(({ product_retailer_id: id = 'product', quantity = 1 }) => `${quantity} × ${id}`)
  return [text, ...lines].filter(Boolean).join('\n') || '(an order)'
}

/** Returns the text of a message; for structured content a summary, so that no message is lost. */
export const summaryOf = (type: string, message: Fields, content: ChatContent | null): string | null => {
  const unshown = `(a message of the type ${type}, which is not shown here)`
  switch (content?.kind) {
    case 'button':
      return content.text ?? content.payload ?? unshown
    case 'reply':
      return content.title ?? content.id
    case 'flow':
      return content.body ?? content.name ?? textOf(fieldsOf(bodyOf(type, message).nfm_reply).response_json) ?? unshown
    case 'contacts':
      return content.contacts.map(cardText).filter(Boolean).join('\n') || unshown
    case 'order':
      return orderText(content)
    case 'unsupported':
      return unshown
    default: {
      const body = bodyOf(type, message)
      return textOf(fileTypeOf(type) ? body.caption : body.body)
    }
  }
}
