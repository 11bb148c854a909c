import type {
  ChatCall,
  ChatFailure,
  ChatInbound,
  ChatMediaRef,
  ChatParty,
  ChatReceipt,
} from '../../../ports/chat-message.ts'
import { readError } from './errors.ts'
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './fields.ts'
import { bodyOf, contentOf, fileTypeOf, summaryOf } from './message-content.ts'
import { type NumberChange, numberChangeOf } from './number-change.ts'
import { digitsOf, numberOfId } from './numbers.ts'

/** An event of the network for one channel. */
export type WebhookEvent =
  | { readonly kind: 'message'; readonly message: ChatInbound }
  | {
      readonly kind: 'reaction'
      readonly id: string
      readonly by: ChatParty
      readonly emoji: string | null
      readonly at: number
    }
  | { readonly kind: 'edited'; readonly id: string; readonly text: string; readonly at: number }
  | { readonly kind: 'receipt'; readonly receipt: ChatReceipt }
  | { readonly kind: 'failure'; readonly failure: ChatFailure }
  | { readonly kind: 'call'; readonly call: ChatCall }
  | NumberChange

/** Events of one channel. The id names it; the number is its display text, which may have an old form. */
export type NumberEvents = {
  readonly id: string | null
  readonly number: string
  readonly events: readonly WebhookEvent[]
}

/** Times are Unix seconds, as strings. */
const timeOf = (value: unknown): number => Math.round((numberOf(value) ?? Date.now() / 1000) * 1000)

/**
 * Identifies a person by the network's id if given ("Business-scoped user IDs") and by the number if given. A number is
 * never derived from such an id.
 */
const remoteOf = (id: unknown, person: unknown, names: ReadonlyMap<string, string>): ChatParty | null => {
  const [digits, user] = [textOf(id), textOf(person)]
  const remote = user ?? digits
  if (remote === null) return null
  const number = digits === null ? null : numberOfId(digits)
  return { number, remote, pushname: names.get(remote) ?? names.get(digits ?? '') ?? null }
}

const namesOf = (value: Fields): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  for (const { profile, wa_id, user_id } of listOf(value.contacts)) {
    const name = textOf(fieldsOf(profile).name)
    for (const id of [textOf(wa_id), textOf(user_id)]) if (name !== null && id !== null) names.set(id, name)
  }
  return names
}

const mediaOf = (type: string, fields: Fields): ChatMediaRef | null => {
  const [kind, id] = [fileTypeOf(type), textOf(fields.id)]
  if (!kind || id === null) return null
  return { ref: { id }, type: kind, mimeType: textOf(fields.mime_type), name: textOf(fields.filename), size: null }
}

const pinOf = (place: Fields): ChatInbound['pin'] => {
  const [latitude, longitude] = [numberOf(place.latitude), numberOf(place.longitude)]
  if (latitude === null || longitude === null) return null
  const [name, address, url] = [textOf(place.name), textOf(place.address), textOf(place.url)]
  return { latitude, longitude, ...(name ? { name } : {}), ...(address ? { address } : {}), ...(url ? { url } : {}) }
}

const messageOf = (message: Fields, from: ChatParty, own: boolean): WebhookEvent | null => {
  const [id, type] = [textOf(message.id), textOf(message.type) ?? 'unknown']
  if (id === null) return null
  const body = bodyOf(type, message)
  const at = timeOf(message.timestamp)
  if (type === 'reaction') {
    const about = textOf(body.message_id)
    return about === null ? null : { kind: 'reaction', id: about, by: from, emoji: textOf(body.emoji), at }
  }
  if (type === 'edit') {
    const about = textOf(body.original_message_id)
    const text = textOf(fieldsOf(fieldsOf(body.message).text).body)
    if (about !== null && text !== null) return { kind: 'edited', id: about, text, at }
  }
  // Retracted by the sender; a received message stays.
  if (type === 'revoke') return null
  const group = textOf(message.group_id)
  const pin = type === 'location' ? pinOf(body) : null
  const media = mediaOf(type, body)
  const { content, ...references } = contentOf(type, message, pin !== null || media !== null)
  return {
    kind: 'message',
    message: {
      id,
      from,
      group: group === null ? null : { id: group, name: null },
      at,
      text: summaryOf(type, message, content),
      media,
      pin,
      content,
      ...references,
      own,
    },
  }
}

/** Format of our correlation id; other users of the number may send any value. */
const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const levels = new Map<string, 1 | 2 | 3>(Object.entries({ sent: 1, delivered: 2, read: 3, played: 3 }))

const statusOf = (status: Fields, names: ReadonlyMap<string, string>): WebhookEvent | null => {
  const [id, what] = [textOf(status.id), textOf(status.status) ?? '']
  if (id === null) return null
  const at = timeOf(status.timestamp)
  const reference = textOf(status.biz_opaque_callback_data)
  const ours = reference !== null && isUuid.test(reference) ? { ours: reference } : {}
  if (what === 'failed') {
    const error = readError(listOf(status.errors)[0]) ?? { code: 0, reason: 'the network gave no reason' }
    return { kind: 'failure', failure: { id, ...ours, code: String(error.code), reason: error.reason, at } }
  }
  const level = levels.get(what)
  if (level === undefined) return null
  const inGroup = status.recipient_type === 'group'
  const by = inGroup
    ? remoteOf(
        status.recipient_participant_id ?? status.participant_recipient_id,
        status.recipient_participant_user_id,
        names,
      )
    : remoteOf(status.recipient_id, status.recipient_user_id, names)
  return { kind: 'receipt', receipt: { id, ...ours, level, at, by } }
}

const callOf = (call: Fields, names: ReadonlyMap<string, string>): WebhookEvent | null => {
  const id = textOf(call.id)
  const own = call.direction === 'BUSINESS_INITIATED'
  const from = own ? remoteOf(call.to, call.to_user_id, names) : remoteOf(call.from, call.from_user_id, names)
  const state = call.event === 'connect' ? 'offered' : call.event === 'terminate' ? 'ended' : null
  if (id === null || from === null || state === null) return null
  const end = state === 'ended' ? { answered: numberOf(call.duration) !== null } : {}
  return { kind: 'call', call: { id, from, own, group: null, video: false, at: timeOf(call.timestamp), state, ...end } }
}

const eventsOf = (value: Fields): WebhookEvent[] => {
  const names = namesOf(value)
  const received = listOf(value.messages).map((one) => {
    const change = numberChangeOf(one)
    if (change) return change
    const from = remoteOf(one.from, one.from_user_id, names)
    return from && messageOf(one, from, false)
  })
  // Written with the phone application that shares the number ("Coexistence").
  const echoed = listOf(value.message_echoes).map((one) => {
    const to = remoteOf(one.to, one.to_user_id, names)
    return to && messageOf(one, to, true)
  })
  const statuses = listOf(value.statuses).map((one) => statusOf(one, names))
  const calls = listOf(value.calls).map((one) => callOf(one, names))
  return [...received, ...echoed, ...statuses, ...calls].filter((one) => one !== null)
}

/**
 * Parses a webhook call (Graph API, "Webhooks", whatsapp_business_account). Events that concern no number are skipped.
 */
export const parseWebhook = (body: unknown): readonly NumberEvents[] =>
  listOf(fieldsOf(body).entry).flatMap(({ changes }) =>
    listOf(changes).flatMap((change): NumberEvents[] => {
      const value = fieldsOf(change.value)
      const metadata = fieldsOf(value.metadata)
      const [id, digits] = [textOf(metadata.phone_number_id), digitsOf(textOf(metadata.display_phone_number) ?? '')]
      const events = eventsOf(value)
      return (id === null && digits === '') || events.length === 0 ? [] : [{ id, number: `+${digits}`, events }]
    }),
  )
