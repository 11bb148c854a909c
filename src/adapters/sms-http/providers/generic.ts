import { createHmac } from 'node:crypto'
import { makeAddressList } from '../../../platform/lib/address-list.ts'
import { compilePattern, type LinearPattern } from '../../../platform/lib/linear-pattern.ts'
import type { SmsCallback, SmsIntake } from '../../../ports/sms.ts'
import {
  concatOf,
  fieldsOf,
  isEqual,
  malformed,
  parseJson,
  textAt,
  tokenOf,
  unauthorized,
  withPlus,
} from '../callback-content.ts'
import { maxPatterns, maxSearchedLength } from '../limits.ts'
import type { Provider, ProviderRequest } from '../provider.ts'
import { passReport, type StateWords } from '../reports.ts'
import type { GenericSettings } from '../sms-http-settings.ts'
import { fillTemplate, namesMedia, type TemplateValues, templateValues } from '../template.ts'

// Any provider: the settings describe its requests, answers and callbacks.

const words: StateWords = new Map([
  ...['enroute', 'sent', 'submitted', 'buffered', 'sending'].map((word) => [word, 'enroute'] as const),
  ...['accepted', 'queued', 'pending', 'scheduled'].map((word) => [word, 'accepted'] as const),
  ...['delivered', 'delivrd', 'success', 'read'].map((word) => [word, 'delivered'] as const),
  ...['undelivered', 'undeliv', 'undeliverable', 'failed', 'failure', 'error'].map(
    (word) => [word, 'undelivered'] as const,
  ),
  ...['expired', 'timeout'].map((word) => [word, 'expired'] as const),
  ...['rejected', 'rejectd', 'refused', 'blocked', 'canceled', 'cancelled'].map((word) => [word, 'rejected'] as const),
  ['unknown', 'unknown'],
])

const mediaTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
} as const

/** Compiled patterns of the settings in use. */
const patterns = new Map<string, LinearPattern>()

const patternOf = (text: string): LinearPattern => {
  const known = patterns.get(text)
  if (known) return known
  if (patterns.size >= maxPatterns) patterns.clear()
  // The settings were checked: the pattern is valid.
  const compiled = compilePattern(text)
  patterns.set(text, compiled)
  return compiled
}

/** Returns what a JSON pointer or a pattern finds in an answer; empty for nothing. */
const findIn = (body: string, path: string | undefined, pattern: string | undefined): string => {
  if (path !== undefined) return textAt(parseJson(body), path)
  return pattern === undefined ? '' : (patternOf(pattern).find(body.slice(0, maxSearchedLength)) ?? '')
}

const requestOf = (settings: GenericSettings, url: string, values: TemplateValues): ProviderRequest => {
  const { method, body, body_type: type = 'json', headers = {} } = settings
  const filled = Object.entries(headers).map(
    ([name, value]) => [name.toLowerCase(), fillTemplate(value, 'header', values)] as const,
  )
  const isGet = method === 'GET' || (method === undefined && body === undefined)
  const content = isGet || body === undefined ? null : fillTemplate(body, type, values)
  return {
    method: isGet ? 'GET' : 'POST',
    url: fillTemplate(url, 'url', values),
    headers: { ...(content === null ? {} : { 'content-type': mediaTypes[type] }), ...Object.fromEntries(filled) },
    body: content,
  }
}

/** Returns a reader of the fields of a callback: a name in the query or the form, or a JSON pointer. */
const readerOf = (request: SmsCallback): ((field: string | undefined) => string) => {
  const content = parseJson(request.raw.toString('utf8'))
  const fields = fieldsOf(content === undefined ? request : { ...request, method: 'GET' })
  return (field) => {
    if (field === undefined) return ''
    return field.startsWith('/') ? textAt(content, field) : (fields[field] ?? '')
  }
}

/** Whether a callback has every proof of origin that the settings ask for; false if they ask for none. */
const isProved = (settings: GenericSettings, request: SmsCallback): boolean => {
  const { callback_secret: secret, callback_header: header, callback_addresses: addresses } = settings
  if (secret === undefined && addresses === undefined) return false
  if (addresses && !makeAddressList(addresses).contains(request.address)) return false
  if (secret === undefined) return true
  if (header === undefined) return isEqual(request.query.secret ?? '', secret)
  const { callback_hash: hash = 'sha256', callback_encoding: encoding = 'hex' } = settings
  // Some write the name of the hash before the value.
  const given = (request.headers[header.toLowerCase()] ?? '').replace(/^sha(?:1|256|512)=/, '')
  const expected = createHmac(hash, secret).update(request.raw).digest(encoding)
  return isEqual(encoding === 'hex' ? given.toLowerCase() : given, expected)
}

/** Returns the callback as far as its proof covers it: an HMAC covers the body alone, and not the query. */
const provedPart = ({ callback_secret: secret, callback_header: header }: GenericSettings, request: SmsCallback) =>
  secret === undefined || header === undefined ? request : { ...request, query: {} }

/** Passes a callback on, as a receipt or as a message. @returns false if it is neither */
const pass = async (settings: GenericSettings, request: SmsCallback, intake: SmsIntake, token: string | undefined) => {
  const read = readerOf(request)
  const word = read(settings.receipt_state)
  const id = read(settings.receipt_id)
  const named = token ?? (read(settings.receipt_token) || undefined)
  if (word !== '' && (id !== '' || named !== undefined)) {
    await passReport(
      intake,
      {
        ...{ id: id || (named ?? ''), token: named, word, raw: request.raw },
        error: read(settings.receipt_error) || null,
      },
      words,
      settings.receipt_states,
    )
    return true
  }
  const [from, to] = [withPlus(read(settings.inbound_from)), withPlus(read(settings.inbound_to))]
  if (token !== undefined || from === '' || to === '') return false
  const sentId = read(settings.inbound_id)
  await intake.inbound({
    ...{ source: from, destination: to, text: read(settings.inbound_text) },
    concat: concatOf(read(settings.inbound_reference), read(settings.inbound_part), read(settings.inbound_parts)),
    ...(sentId === '' ? {} : { id: sentId }),
  })
  return true
}

export const generic: Provider<GenericSettings> = {
  submit: (settings, part) => requestOf(settings, settings.url, templateValues(settings, part)),
  read: (settings, { message, part, callback }, { status, body }) => {
    const { success_status: statuses, success_pattern: success } = settings
    const isStatus = statuses ? statuses.includes(status) : status >= 200 && status < 300
    const isTaken = isStatus && (success === undefined || patternOf(success).test(body.slice(0, maxSearchedLength)))
    const { id_path, id_pattern, error_path, error_pattern, retry_codes = [], denied_codes = [] } = settings
    if (isTaken) {
      if (id_path === undefined && id_pattern === undefined)
        return { meaning: 'taken', id: callback?.token ?? `${message}.${part}` }
      const id = findIn(body, id_path, id_pattern)
      return id === '' ? { meaning: 'unclear', words: `the answer has no id: ${body}` } : { meaning: 'taken', id }
    }
    const code = findIn(body, error_path, error_pattern) || null
    if (code !== null && retry_codes.includes(code)) return { meaning: 'busy', code }
    if (code !== null && denied_codes.includes(code)) return { meaning: 'denied', words: body }
    // An answer of success that is no answer of this provider, such as a page of a proxy, says nothing.
    if (status >= 200 && status < 300 && code === null && settings.error_path !== undefined)
      return { meaning: 'unclear', words: body }
    return { meaning: 'refused', code, words: body }
  },
  test: (settings) => {
    const { test_url: url } = settings
    if (url === undefined) return null
    return requestOf({ ...settings, method: 'GET' }, url, templateValues(settings, null))
  },
  takesMedia: ({ url, body = '' }) => namesMedia(url) || namesMedia(body),
  callback: async (settings, request, intake) => {
    const token = tokenOf(request)
    if (token === undefined ? !isProved(settings, request) : !request.isGenuine(token)) return unauthorized
    const isRead = await pass(settings, token === undefined ? provedPart(settings, request) : request, intake, token)
    return isRead ? { status: 200, body: settings.callback_answer ?? '' } : malformed('the fields are missing')
  },
  reasons: new Map(),
}
