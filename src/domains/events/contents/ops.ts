import { type Masking, mask, maskNamed } from '../../../platform/http/confidential.ts'
import { createContact } from '../../contacts/contract.ts'
import type { Contents } from '../../inbox/narrowing/ops.ts'

// Contents of conversations within events and acts. Every reader of what was recorded decides by the functions of this
// file: the event log, deliveries, subscriptions, the tunnel, the live feed and the audit trail.

/** Events without contents, by the beginning of their names. */
const withoutContents = ['number.', 'balance.', 'member.', 'msgapp.number.', 'msgapp.call.', 'conversation.bulk']

const fieldsOfContacts = Object.keys(createContact.body.properties).filter((name) => name !== 'channel_uuid')

/** Fields that are masked, at any depth. `text` always is. */
const fields = new Map<string, Masking>(
  [
    ...[
      'previous_text',
      'media',
      'pin',
      'template',
      'content',
      'reaction',
      'reactions',
      'contact',
      'contact_name',
      'name',
    ],
    ...[...fieldsOfContacts, 'details', 'msgapp_info', 'recording_url'],
  ].map((field) => [field, 'whole']),
)

/** Further fields of acts on conversations and contacts. */
const fieldsOfActs = new Map<string, Masking>([
  ...fields,
  ...['merged', 'description', 'title', 'q'].map((field) => [field, 'whole'] as const),
])

/** Returns the value of a changed field of an act without contents. @param path names with dots */
export const redactChange = (path: string, value: unknown): unknown => {
  const names = path.split('.')
  return maskNamed(fieldsOfActs, value, names.find((name) => fieldsOfActs.has(name)) ?? names.at(-1))
}

/** Returns which contents the events of a name have; null for none. Events of unknown names may have any. */
export const contentsIn = (name: string): keyof Contents | null => {
  if (name.startsWith('call.')) return 'recordings'
  return withoutContents.some((start) => name.startsWith(start)) ? null : 'messages'
}

/** True if a reader may see the whole payload of events of this name. */
export const showsWhole = (name: string, contents: Contents): boolean => {
  const needed = contentsIn(name)
  return needed === null || contents[needed]
}

/** Returns a payload, JSON, without the contents that the reader may not see. Its envelope stays. */
export const redactPayload = (name: string, payload: string, contents: Contents): string =>
  showsWhole(name, contents)
    ? payload
    : JSON.stringify({ ...Object(maskNamed(fields, JSON.parse(payload))), redacted: true })

/** Returns what a receiver answered to an event, which may repeat its payload. */
export const redactAttempt = <A extends { response_excerpt?: string; response_headers?: Record<string, string> }>(
  name: string,
  { response_excerpt, response_headers, ...rest }: A,
  contents: Contents,
): Omit<A, 'response_excerpt' | 'response_headers'> & Partial<Pick<A, 'response_excerpt' | 'response_headers'>> => {
  const isWhole = showsWhole(name, contents)
  return {
    ...rest,
    ...(response_excerpt === undefined ? {} : { response_excerpt: isWhole ? response_excerpt : mask }),
    ...(response_headers === undefined || !isWhole ? {} : { response_headers }),
  }
}
