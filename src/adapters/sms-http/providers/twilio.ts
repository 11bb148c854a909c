import { createHmac } from 'node:crypto'
import type { InboundMedia } from '../../../ports/sms.ts'
import {
  baseOf,
  basic,
  fieldsOf,
  isEqual,
  isOfOrigin,
  mediaField,
  parseJson,
  receiptUrl,
  textAt,
  tokenOf,
  unauthorized,
} from '../callback-content.ts'
import { maxInboundMedia, maxTwilioValiditySeconds } from '../limits.ts'
import type { Provider, ProviderRequest } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { TwilioSettings } from '../sms-http-settings.ts'

// The interface of Twilio's Programmable Messaging, version 2010-04-01, which other systems offer too.

const defaultBase = 'https://api.twilio.com'

const words: StateWords = new Map([
  ['accepted', 'accepted'],
  ['scheduled', 'accepted'],
  ['queued', 'accepted'],
  ['sending', 'accepted'],
  ['sent', 'enroute'],
  ['delivered', 'delivered'],
  ['read', 'delivered'],
  ['undelivered', 'undelivered'],
  ['failed', 'rejected'],
  ['canceled', 'rejected'],
])

/** Codes of errors after which the same request may succeed later: too many requests, a full queue. */
const busyCodes: ReadonlySet<string> = new Set(['14107', '20429', '21611'])

const accountOf = ({ base_url: base, account_sid }: TwilioSettings): string =>
  `${baseOf(base, defaultBase)}/2010-04-01/Accounts/${encodeURIComponent(account_sid)}`

const authorized = ({ account_sid, auth_token }: TwilioSettings) => ({
  authorization: basic(account_sid, auth_token),
  accept: 'application/json',
})

/** The code of refused credentials. */
const deniedCode = '20003'

/** Returns `X-Twilio-Signature`: of the address and, for POST, of the sorted fields, each with its different values. */
export const twilioSignature = (token: string, url: string, form: URLSearchParams): string => {
  const names = [...new Set(form.keys())].sort()
  const fields = names.flatMap((name) => [...new Set(form.getAll(name))].sort().map((value) => name + value))
  return createHmac('sha1', token)
    .update(`${url}${fields.join('')}`)
    .digest('base64')
}

/** Returns the files of an inbound message: numbered fields. */
const mediaOf = (fields: Readonly<Record<string, string>>): InboundMedia[] =>
  Array.from({ length: Math.min(maxInboundMedia, Number(fields.NumMedia) || 0) }, (_, n) => {
    const mimeType = fields[`MediaContentType${n}`]
    return { url: fields[`MediaUrl${n}`] ?? '', ...(mimeType ? { mimeType } : {}) }
  })

export const twilio: Provider<TwilioSettings> = {
  submit: (settings, part): ProviderRequest => {
    const { messaging_service_sid: service } = settings
    const form = new URLSearchParams({ To: part.destination, From: part.source })
    if (part.text !== '' || !part.media) form.set('Body', part.text)
    for (const url of part.media ?? []) form.append('MediaUrl', url)
    if (service !== undefined) form.set('MessagingServiceSid', service)
    const callback = receiptUrl(part.callback)
    if (callback !== null) form.set('StatusCallback', callback)
    if (part.validSeconds !== undefined)
      form.set('ValidityPeriod', String(Math.max(1, Math.min(maxTwilioValiditySeconds, part.validSeconds))))
    return {
      method: 'POST',
      url: `${accountOf(settings)}/Messages.json`,
      headers: { ...authorized(settings), 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    }
  },
  read: (_settings, _part, { status, body }) => {
    const content = parseJson(body)
    if (status >= 200 && status < 300) {
      const id = textAt(content, '/sid')
      return id === '' ? { meaning: 'unclear', words: 'the answer has no sid' } : { meaning: 'taken', id }
    }
    const code = textAt(content, '/code') || null
    if (code !== null && busyCodes.has(code)) return { meaning: 'busy', code }
    const words = textAt(content, '/message')
    return code === deniedCode ? { meaning: 'denied', words } : { meaning: 'refused', code, words }
  },
  test: (settings) => ({
    method: 'GET',
    url: `${accountOf(settings)}/Balance.json`,
    headers: authorized(settings),
    body: null,
  }),
  takesMedia: () => true,
  // A redirect to the store of files, at another origin, needs none.
  mediaHeaders: (settings, url) =>
    isOfOrigin(url, baseOf(settings.base_url, defaultBase))
      ? { authorization: authorized(settings).authorization }
      : {},
  callback: async (settings, request, intake) => {
    const form = new URLSearchParams(request.method === 'POST' ? request.raw.toString('utf8') : '')
    const signature = request.headers['x-twilio-signature'] ?? ''
    if (!isEqual(signature, twilioSignature(settings.auth_token, request.url, form))) return unauthorized
    const fields = fieldsOf(request)
    const { MessageSid: id = '', From: from = '', To: to = '', MessageStatus: word, Body: text = '' } = fields
    if (word !== undefined && word !== 'received')
      await passReport(
        intake,
        {
          ...{ id, token: tokenOf(request), word, error: fields.ErrorCode || null, raw: request.raw },
          ...{ handset: to, number: from },
        },
        words,
        settings.receipt_states,
      )
    else if (from !== '' && to !== '')
      await intake.inbound({
        ...{ source: from, destination: to, text, concat: null, ...mediaField(mediaOf(fields)) },
        ...(id === '' ? {} : { id }),
      })
    // With a body, the answer would be a message to the handset.
    return { status: 204, body: '' }
  },
  reasons: new Map([
    ['20429', { text: 'The provider received too many requests at once', advice: 'send_again' }],
    ['21211', { text: 'The provider does not accept the number of the recipient', advice: 'check_number' }],
    ['21212', { text: 'The provider does not accept the number of the sender', advice: 'other_sender' }],
    ['21408', { text: 'The provider does not send to the country of the recipient', advice: 'check_settings' }],
    ['21606', { text: 'The number of the sender cannot send messages at the provider', advice: 'other_sender' }],
    ['21610', { text: 'The recipient answered STOP, and the provider blocks messages', advice: 'check_number' }],
    ['21611', { text: 'The queue of the sender at the provider is full', advice: 'send_again' }],
    ['21612', { text: 'The provider has no route from this sender to the recipient', advice: 'other_sender' }],
    ['21614', { text: 'The number of the recipient cannot receive messages', advice: 'check_number' }],
    ['21617', { text: 'The text is too long for the provider', advice: 'change_text' }],
    ['14107', { text: 'The provider received too many messages at once', advice: 'send_again' }],
  ]),
}
