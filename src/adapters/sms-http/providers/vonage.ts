import { createHash, createHmac } from 'node:crypto'
import type { SmsCallback, SmsInbound } from '../../../ports/sms.ts'
import {
  baseOf,
  concatOf,
  digits,
  fieldsOf,
  isEqual,
  parseJson,
  taken,
  textAt,
  unauthorized,
  withPlus,
} from '../callback-content.ts'
import { maxCallbackAgeSeconds } from '../limits.ts'
import type { Provider } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { VonageSettings } from '../sms-http-settings.ts'

// The interface of Vonage's SMS API. The address of a callback may have 100 characters, too few for a token: the token
// comes back as client-ref.

const defaultBase = 'https://rest.nexmo.com'

/** Limits of `ttl`, in milliseconds. */
const ttl = { min: 20_000, max: 604_800_000 }

const words: StateWords = new Map([
  ['accepted', 'accepted'],
  ['buffered', 'enroute'],
  ['delivered', 'delivered'],
  ['expired', 'expired'],
  ['failed', 'undelivered'],
  ['rejected', 'rejected'],
  ['unknown', 'unknown'],
])

/** Statuses after which the same request may succeed later: too many requests, an error inside. */
const busyStatuses: ReadonlySet<string> = new Set(['1', '5'])

/** The status of refused credentials. */
const deniedStatus = '4'

/** Returns the fields of a callback: of a form, of a query, or of JSON. */
const callbackFields = (request: SmsCallback): Readonly<Record<string, string>> => {
  const content = request.method === 'POST' ? parseJson(request.raw.toString('utf8')) : undefined
  if (typeof content !== 'object' || content === null) return fieldsOf(request)
  return Object.fromEntries(Object.keys(content).map((name) => [name, textAt(content, `/${name}`)] as const))
}

/** Returns the signature of fields (Vonage, "Signing messages"): the sorted ones, with `&` and `=` in values replaced. */
export const vonageSignature = (
  secret: string,
  method: NonNullable<VonageSettings['signature_method']>,
  fields: Readonly<Record<string, string>>,
): string => {
  const names = Object.keys(fields).filter((name) => name !== 'sig')
  const content = names
    .sort()
    .map((name) => `&${name}=${(fields[name] ?? '').replaceAll(/[&=]/g, '_')}`)
    .join('')
  if (method === 'md5hash') return createHash('md5').update(`${content}${secret}`).digest('hex')
  return createHmac(method, secret).update(content).digest('hex')
}

const isSigned = (
  { signature_secret, signature_method = 'sha256' }: VonageSettings,
  fields: Readonly<Record<string, string>>,
): boolean => {
  const { sig = '', timestamp = '' } = fields
  const isRecent = Math.abs(Date.now() / 1_000 - Number(timestamp)) <= maxCallbackAgeSeconds
  return isEqual(sig.toLowerCase(), vonageSignature(signature_secret, signature_method, fields)) && isRecent
}

const concatFieldsOf = (fields: Readonly<Record<string, string>>): SmsInbound['concat'] =>
  fields.concat === 'true' ? concatOf(fields['concat-ref'], fields['concat-part'], fields['concat-total']) : null

export const vonage: Provider<VonageSettings> = {
  submit: ({ base_url: base, api_key, api_secret }, part) => {
    const form = new URLSearchParams({
      api_key,
      api_secret,
      from: digits(part.source),
      to: digits(part.destination),
      text: part.text,
      type: part.encoding === 'gsm7' ? 'text' : 'unicode',
      'status-report-req': '1',
    })
    if (part.callback) {
      form.set('callback', part.callback.url)
      form.set('client-ref', part.callback.token)
    }
    if (part.validSeconds !== undefined)
      form.set('ttl', String(Math.max(ttl.min, Math.min(ttl.max, part.validSeconds * 1_000))))
    return {
      method: 'POST',
      url: `${baseOf(base, defaultBase)}/sms/json`,
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    }
  },
  read: (_settings, _part, { status, body }) => {
    const content = parseJson(body)
    const code = textAt(content, '/messages/0/status')
    if (status < 200 || status >= 300)
      return { meaning: 'refused', code: code || null, words: textAt(content, '/messages/0/error-text') }
    const id = textAt(content, '/messages/0/message-id')
    if (code === '0' && id !== '') return { meaning: 'taken', id }
    if (code === '' || code === '0') return { meaning: 'unclear', words: 'the answer has no status or no message-id' }
    if (busyStatuses.has(code)) return { meaning: 'busy', code }
    const words = textAt(content, '/messages/0/error-text')
    return code === deniedStatus ? { meaning: 'denied', words } : { meaning: 'refused', code, words }
  },
  test: ({ base_url: base, api_key, api_secret }) => ({
    method: 'GET',
    url: `${baseOf(base, defaultBase)}/account/get-balance?${new URLSearchParams({ api_key, api_secret }).toString()}`,
    headers: { accept: 'application/json' },
    body: null,
  }),
  callback: async (settings, request, intake) => {
    const fields = callbackFields(request)
    if (!isSigned(settings, fields)) return unauthorized
    const { messageId: id = '', msisdn = '', to = '', status: word, text } = fields
    if (word !== undefined && text === undefined) {
      const error = fields['err-code'] ?? ''
      await passReport(
        intake,
        {
          ...{ id, token: fields['client-ref'], word, raw: request.raw, handset: withPlus(msisdn) },
          error: error === '' || error === '0' ? null : error,
        },
        words,
        settings.receipt_states,
      )
    } else if (msisdn !== '' && to !== '')
      await intake.inbound({
        ...{ source: withPlus(msisdn), destination: withPlus(to), text: text ?? '', concat: concatFieldsOf(fields) },
        ...(id === '' ? {} : { id }),
      })
    return taken
  },
  reasons: new Map([
    ['1', { text: 'The provider received too many messages at once', advice: 'send_again' }],
    ['2', { text: 'The provider misses a field of the request', advice: 'check_settings' }],
    ['3', { text: 'The provider does not accept a number or the text', advice: 'check_number' }],
    ['5', { text: 'The provider had an internal error', advice: 'send_again' }],
    ['6', { text: 'The provider could not process the message', advice: 'change_text' }],
    ['7', { text: 'The provider blocks the number of the recipient', advice: 'check_number' }],
    ['8', { text: 'The account at the provider is barred', advice: 'check_settings' }],
    ['9', { text: 'The balance of the account at the provider is too low', advice: 'check_settings' }],
    ['12', { text: 'The text is too long for the provider', advice: 'change_text' }],
    ['15', { text: 'The provider does not accept the number of the sender', advice: 'other_sender' }],
    [
      '29',
      { text: 'The account at the provider is a trial and does not send to this number', advice: 'check_settings' },
    ],
    ['33', { text: 'The number of the recipient is no longer in use', advice: 'check_number' }],
  ]),
}
