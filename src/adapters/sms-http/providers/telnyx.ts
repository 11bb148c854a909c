import { createPublicKey, verify } from 'node:crypto'
import type { CallbackReply } from '../../../ports/callback.ts'
import type { SmsCallback } from '../../../ports/sms.ts'
import {
  at,
  baseOf,
  listAt,
  malformed,
  mediaField,
  parseJson,
  receiptUrl,
  taken,
  textAt,
  tokenOf,
  unauthorized,
} from '../callback-content.ts'
import { maxCallbackAgeSeconds } from '../limits.ts'
import type { Provider } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { TelnyxSettings } from '../sms-http-settings.ts'

// The interface of Telnyx Messaging, version 2.

const defaultBase = 'https://api.telnyx.com'

const words: StateWords = new Map([
  ['queued', 'accepted'],
  ['sending', 'accepted'],
  ['sent', 'enroute'],
  ['delivered', 'delivered'],
  ['expired', 'expired'],
  ['sending_failed', 'rejected'],
  ['delivery_failed', 'undelivered'],
  ['delivery_unconfirmed', 'unknown'],
])

/** Code of the error for too many requests. */
const busyCode = '10011'

const authorized = ({ api_key }: TelnyxSettings): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${api_key}`,
  accept: 'application/json',
})

const isSigned = (publicKey: string, { headers, raw }: SmsCallback): boolean => {
  const { 'telnyx-timestamp': time = '', 'telnyx-signature-ed25519': signature = '' } = headers
  if (!/^[0-9]{1,12}$/.test(time) || Math.abs(Date.now() / 1_000 - Number(time)) > maxCallbackAgeSeconds) return false
  try {
    const x = Buffer.from(publicKey, 'base64').toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return verify(null, Buffer.concat([Buffer.from(`${time}|`), raw]), key, Buffer.from(signature, 'base64'))
  } catch {
    // The key of the settings is none.
    return false
  }
}

export const telnyx: Provider<TelnyxSettings> = {
  submit: (settings, { source, destination, text, media, callback }) => {
    const { base_url: base, messaging_profile_id: profile } = settings
    const address = receiptUrl(callback)
    return {
      method: 'POST',
      url: `${baseOf(base, defaultBase)}/v2/messages`,
      headers: { ...authorized(settings), 'content-type': 'application/json' },
      body: JSON.stringify({
        from: source,
        to: destination,
        ...(media && text === '' ? {} : { text }),
        ...(media ? { type: 'MMS', media_urls: media } : { type: 'SMS' }),
        ...(profile === undefined ? {} : { messaging_profile_id: profile }),
        ...(address === null ? {} : { webhook_url: address, use_profile_webhooks: false }),
      }),
    }
  },
  read: (_settings, _part, { status, body }) => {
    const content = parseJson(body)
    if (status >= 200 && status < 300) {
      const id = textAt(content, '/data/id')
      return id === '' ? { meaning: 'unclear', words: 'the answer has no id' } : { meaning: 'taken', id }
    }
    const code = textAt(content, '/errors/0/code') || null
    if (code === busyCode) return { meaning: 'busy', code }
    const said = textAt(content, '/errors/0/detail') || textAt(content, '/errors/0/title')
    return { meaning: 'refused', code, words: said }
  },
  test: (settings) => ({
    method: 'GET',
    url: `${baseOf(settings.base_url, defaultBase)}/v2/balance`,
    headers: authorized(settings),
    body: null,
  }),
  takesMedia: () => true,
  callback: async (settings, request, intake): Promise<CallbackReply> => {
    if (!isSigned(settings.public_key, request)) return unauthorized
    const event = parseJson(request.raw.toString('utf8'))
    if (event === undefined) return malformed('the body is not JSON')
    const payload = at(event, '/data/payload')
    const [kind, id] = [textAt(event, '/data/event_type'), textAt(payload, '/id')]
    const [from, to] = [textAt(payload, '/from/phone_number'), textAt(payload, '/to/0/phone_number')]
    if (kind === 'message.received')
      await intake.inbound({
        ...{ source: from, destination: to, text: textAt(payload, '/text'), concat: null },
        ...mediaField(
          listAt(payload, '/media').map((file) => ({
            url: textAt(file, '/url'),
            mimeType: textAt(file, '/content_type'),
          })),
        ),
        ...(id === '' ? {} : { id }),
      })
    else if (kind === 'message.sent' || kind === 'message.finalized')
      await passReport(
        intake,
        {
          ...{ id, token: tokenOf(request), word: textAt(payload, '/to/0/status'), raw: request.raw },
          ...{ error: textAt(payload, '/errors/0/code') || null, handset: to, number: from },
        },
        words,
        settings.receipt_states,
      )
    return taken
  },
  reasons: new Map([
    ['10011', { text: 'The provider received too many requests at once', advice: 'send_again' }],
    ['10016', { text: 'The provider does not accept the form of a number', advice: 'check_number' }],
    ['40310', { text: 'The provider does not accept the number of the recipient', advice: 'check_number' }],
    ['40300', { text: 'The recipient answered STOP, and the provider blocks messages', advice: 'check_number' }],
    ['40001', { text: 'The number of the recipient cannot receive messages', advice: 'check_number' }],
    ['40002', { text: 'The provider took the message for spam', advice: 'change_text' }],
    ['40003', { text: 'The provider blocks the sender for spam', advice: 'other_sender' }],
  ]),
}
