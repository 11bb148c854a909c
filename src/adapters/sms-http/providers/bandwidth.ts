import {
  at,
  baseOf,
  basic,
  hasBasic,
  isOfOrigin,
  listAt,
  malformed,
  mediaField,
  parseJson,
  taken,
  textAt,
  unauthorized,
} from '../callback-content.ts'
import type { Provider } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { BandwidthSettings } from '../sms-http-settings.ts'

// The interface of Bandwidth's Messaging API, version 2. Its callbacks go to the address of the application; the token
// comes back as tag.

const defaultBase = 'https://messaging.bandwidth.com/api/v2'

const words: StateWords = new Map([
  ['message-sending', 'enroute'],
  ['message-delivered', 'delivered'],
  ['message-read', 'delivered'],
  ['message-failed', 'undelivered'],
])

/** Codes of message-failed that say nothing about the delivery: no receipt came. */
const unknownCodes: ReadonlySet<string> = new Set(['9902'])

const unknownWord = 'no-receipt'
const allWords: StateWords = new Map([...words, [unknownWord, 'unknown']])

const accountOf = ({ base_url: base, account_id }: BandwidthSettings): string =>
  `${baseOf(base, defaultBase)}/users/${encodeURIComponent(account_id)}`

const authorized = ({ username, password }: BandwidthSettings) => ({
  authorization: basic(username, password),
  accept: 'application/json',
})

export const bandwidth: Provider<BandwidthSettings> = {
  submit: (settings, { source, destination, text, media, callback }) => ({
    method: 'POST',
    url: `${accountOf(settings)}/messages`,
    headers: { ...authorized(settings), 'content-type': 'application/json' },
    body: JSON.stringify({
      applicationId: settings.application_id,
      from: source,
      to: [destination],
      text,
      ...(media ? { media } : {}),
      ...(callback ? { tag: callback.token } : {}),
    }),
  }),
  read: (_settings, _part, { status, body }) => {
    const content = parseJson(body)
    if (status >= 200 && status < 300) {
      const id = textAt(content, '/id')
      return id === '' ? { meaning: 'unclear', words: 'the answer has no id' } : { meaning: 'taken', id }
    }
    return { meaning: 'refused', code: textAt(content, '/type') || null, words: textAt(content, '/description') }
  },
  test: (settings) => ({
    method: 'GET',
    url: `${accountOf(settings)}/media`,
    headers: authorized(settings),
    body: null,
  }),
  takesMedia: () => true,
  mediaHeaders: (settings, url) =>
    isOfOrigin(url, baseOf(settings.base_url, defaultBase))
      ? { authorization: authorized(settings).authorization }
      : {},
  callback: async (settings, request, intake) => {
    if (!hasBasic(request, settings.callback_username, settings.callback_secret)) return unauthorized
    const events = parseJson(request.raw.toString('utf8'))
    if (!Array.isArray(events)) return malformed('the body is no JSON array')
    for (const event of events) {
      const [kind, to, code] = [textAt(event, '/type'), textAt(event, '/to'), textAt(event, '/errorCode')]
      const message = at(event, '/message')
      const [id, from] = [textAt(message, '/id'), textAt(message, '/from')]
      if (kind === 'message-received')
        await intake.inbound({
          source: from,
          destination: textAt(message, '/owner') || to,
          text: textAt(message, '/text'),
          concat: null,
          ...mediaField(listAt(message, '/media').map((url) => ({ url: typeof url === 'string' ? url : '' }))),
          ...(id === '' ? {} : { id }),
        })
      else if (words.has(kind))
        await passReport(
          intake,
          {
            ...{ id, token: textAt(message, '/tag') || undefined, raw: request.raw, handset: to, number: from },
            ...{ word: unknownCodes.has(code) ? unknownWord : kind, error: code || null },
          },
          allWords,
          settings.receipt_states,
        )
    }
    return taken
  },
  reasons: new Map([
    ['request_validation', { text: 'The provider does not accept a number or the text', advice: 'check_number' }],
    ['forbidden', { text: 'The account at the provider may not send messages', advice: 'check_settings' }],
    [
      'max_message_queue_size_exceeded',
      { text: 'The queue of the account at the provider is full', advice: 'send_again' },
    ],
  ]),
}
