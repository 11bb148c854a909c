import { type Static, Type } from 'typebox'
import { Enum, Named } from '../../platform/http/schema.ts'
import { isNetwork } from '../../platform/lib/address-list.ts'
import { compilePattern } from '../../platform/lib/linear-pattern.ts'
import { refusals } from './refusals.ts'
import {
  Ascii,
  apiKey,
  baseUrl,
  callbackSecret,
  count,
  password,
  receiptStates,
  responseSeconds,
  secret,
  token,
  tps,
  tpsPerSender,
  window,
} from './setting-schemas.ts'
import { smsRouting } from './sms-routing-settings.ts'

const Template = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description })

const Field = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '^[!-~]+$',
    description: `generic: ${description}: a name in the query or form, or a JSON pointer such as /data/id`,
  })

const Pattern = (description: string) =>
  Type.String({ minLength: 1, maxLength: 200, description: `generic: ${description}; without look-around` })

const Pointer = (description: string) =>
  Type.String({ maxLength: 200, pattern: '^(/[^/]*)+$', description: `generic: JSON pointer of ${description}` })

/** Settings of SMS providers over HTTP. Which of them a provider has is in `settingsByProvider`. */
export const SmsHttp = Named(
  'SmsHttpSettings',
  Type.Object({
    provider: Enum(['generic', 'twilio', 'telnyx', 'vonage', 'bandwidth', 'kannel'], {
      description:
        'The provider’s interface. twilio: account_sid, auth_token; base_url for other systems of its shape. telnyx: api_key, public_key. vonage: api_key, api_secret, signature_secret. bandwidth: account_id, application_id, username, password, callback_username, callback_secret. kannel: base_url, username, password. generic: url and what describes the interface',
    }),
    base_url: Type.Optional(baseUrl),
    account_sid: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9-]+$',
        description: 'twilio: the account’s SID, AC…, or its name in other systems',
      }),
    ),
    auth_token: Type.Optional(secret(200, 'twilio: the account’s token, which also signs callbacks')),
    messaging_service_sid: Type.Optional(
      Ascii(64, 'twilio: messaging service that chooses the sender. Default: our number is the sender'),
    ),
    api_key: Type.Optional(apiKey),
    public_key: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9+/]{43}=$',
        description: 'telnyx: the account’s public key, in base64: callbacks are signed with its private key',
      }),
    ),
    messaging_profile_id: Type.Optional(
      Ascii(64, 'telnyx: messaging profile of the sender. Default: the one of the number'),
    ),
    api_secret: Type.Optional(secret(200, 'vonage: the secret of api_key')),
    signature_secret: Type.Optional(secret(200, 'vonage: the secret that signs callbacks')),
    signature_method: Type.Optional(
      Enum(['md5hash', 'md5', 'sha1', 'sha256', 'sha512'], {
        description: 'vonage: how callbacks are signed. Default: sha256',
      }),
    ),
    account_id: Type.Optional(Ascii(64, 'bandwidth: the account’s id')),
    application_id: Type.Optional(Ascii(64, 'bandwidth: the messaging application’s id, whose callbacks come to us')),
    username: Type.Optional(Ascii(100)),
    password: Type.Optional(password),
    callback_username: Type.Optional(Ascii(100, 'bandwidth: user of the application’s callbacks')),
    callback_secret: Type.Optional(callbackSecret),
    smsc: Type.Optional(Ascii(64, 'kannel: the smsc-id to send over. Default: the routes of Kannel')),
    url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s#]+$',
        maxLength: 2000,
        description:
          'generic: address of a submit, with {from} {to} {text} {id} {callback} {reference} {encoding} {coding} {seconds} {media} {username} {password} {token} {basic}',
        examples: ['https://api.example.net/send?to={to}&from={from}&text={text}'],
      }),
    ),
    method: Type.Optional(Enum(['GET', 'POST'], { description: 'generic: default POST with a body, else GET' })),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }), Template(1000, 'A template as url'), {
        additionalProperties: false,
        maxProperties: 20,
        description: 'generic: headers of requests; write secrets as {token} or {basic}',
        examples: [{ authorization: 'Bearer {token}' }],
      }),
    ),
    body: Type.Optional(Template(4000, 'generic: body of a submit: a template as url')),
    body_type: Type.Optional(
      Enum(['json', 'form', 'text'], {
        description: 'generic: media type of body, and how values are escaped. Default: json',
      }),
    ),
    token: Type.Optional(token),
    number_form: Type.Optional(
      Enum(['e164', 'digits'], { description: 'generic: numbers in templates with a +, or without. Default: e164' }),
    ),
    success_status: Type.Optional(
      Type.Array(Type.Integer({ minimum: 200, maximum: 499 }), {
        minItems: 1,
        maxItems: 20,
        description: 'generic: statuses of an answer that takes the message. Default: 200 to 299',
      }),
    ),
    success_pattern: Type.Optional(Pattern('what the body of such an answer must contain')),
    id_path: Type.Optional(Pointer('the provider’s id in the answer. Without id_path and id_pattern, ours is used')),
    id_pattern: Type.Optional(Pattern('finds that id; its first group is the id')),
    error_path: Type.Optional(Pointer('the provider’s code in a refusal')),
    error_pattern: Type.Optional(Pattern('finds that code; its first group is the code')),
    retry_codes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
        maxItems: 50,
        description: 'generic: codes after which the message is submitted again later, as after the statuses 429, 503',
      }),
    ),
    denied_codes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 60 }), {
        maxItems: 50,
        description: 'generic: codes of refused credentials, after which messages wait, as after the status 401',
      }),
    ),
    test_url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s#]+$',
        maxLength: 2000,
        description: 'generic: address for connections test, such as that of the balance: a template as url',
      }),
    ),
    receipt_state: Type.Optional(Field('the word for the state in a receipt')),
    receipt_id: Type.Optional(Field('the provider’s id in a receipt')),
    receipt_error: Type.Optional(Field('the network’s code in a receipt')),
    receipt_token: Type.Optional(Field('where a receipt repeats {reference}, if it does not come to {callback}')),
    receipt_states: Type.Optional(receiptStates),
    inbound_from: Type.Optional(Field('the sender of an inbound message')),
    inbound_to: Type.Optional(Field('its recipient')),
    inbound_text: Type.Optional(Field('its text')),
    inbound_id: Type.Optional(Field('its id, which a repetition has, too')),
    inbound_reference: Type.Optional(Field('the number that the parts of a long inbound message share')),
    inbound_part: Type.Optional(Field('the position of such a part, from 1')),
    inbound_parts: Type.Optional(Field('the number of such parts')),
    callback_header: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9-]{1,64}$',
        description:
          'generic: header with the HMAC of the body under callback_secret: fields then count in the body alone. Without it, callback_secret comes as secret in the query',
      }),
    ),
    callback_hash: Type.Optional(Enum(['sha1', 'sha256', 'sha512'], { description: 'generic: default sha256' })),
    callback_encoding: Type.Optional(Enum(['hex', 'base64'], { description: 'generic: default hex' })),
    callback_addresses: Type.Optional(
      Type.Array(Type.String({ pattern: '^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$' }), {
        minItems: 1,
        maxItems: 200,
        description: 'generic: IP addresses or networks that callbacks must come from',
        examples: [['203.0.113.0/28']],
      }),
    ),
    callback_answer: Type.Optional(
      Type.String({ maxLength: 200, description: 'generic: body of our answer to a callback. Default: empty' }),
    ),
    window: Type.Optional(window),
    tps: Type.Optional(tps),
    tps_per_sender: Type.Optional(tpsPerSender),
    response_seconds: Type.Optional(responseSeconds),
    slots: Type.Optional(
      count(1, 20, 'Workers that may share the connection; each has its part of window and pace. Default: 1'),
    ),
    ...smsRouting,
  }),
)

type Settings = Static<typeof SmsHttp>
type Name = keyof Settings & string

/** The settings that a provider requires, and those that it may have besides the common ones. */
const settingsByProvider: Readonly<
  Record<Settings['provider'], { readonly required: readonly Name[]; readonly optional: readonly Name[] }>
> = {
  twilio: { required: ['account_sid', 'auth_token'], optional: ['base_url', 'messaging_service_sid'] },
  telnyx: { required: ['api_key', 'public_key'], optional: ['base_url', 'messaging_profile_id'] },
  vonage: { required: ['api_key', 'api_secret', 'signature_secret'], optional: ['base_url', 'signature_method'] },
  bandwidth: {
    required: ['account_id', 'application_id', 'username', 'password', 'callback_username', 'callback_secret'],
    optional: ['base_url'],
  },
  kannel: { required: ['base_url', 'username', 'password'], optional: ['callback_secret', 'smsc'] },
  generic: {
    required: ['url'],
    optional: [
      ...(['method', 'headers', 'body', 'body_type', 'username', 'password', 'token', 'number_form'] as const),
      ...(['success_status', 'success_pattern', 'id_path', 'id_pattern', 'error_path', 'error_pattern'] as const),
      ...([
        'retry_codes',
        'denied_codes',
        'test_url',
        'receipt_state',
        'receipt_id',
        'receipt_error',
        'receipt_token',
      ] as const),
      ...(['inbound_from', 'inbound_to', 'inbound_text', 'inbound_id', 'inbound_reference'] as const),
      ...([
        'inbound_part',
        'inbound_parts',
        'callback_secret',
        'callback_header',
        'callback_hash',
        'callback_encoding',
      ] as const),
      ...(['callback_addresses', 'callback_answer'] as const),
    ],
  },
}

const common: readonly Name[] = [
  ...(['provider', 'receipt_states', 'window', 'tps', 'tps_per_sender', 'response_seconds', 'slots'] as const),
  // The schema has the names of its own fields.
  ...(Object.keys(smsRouting) as (keyof typeof smsRouting)[]),
]

const patternNames = ['success_pattern', 'id_pattern', 'error_pattern'] as const

/** Checks what the schema cannot express. @throws Problem */
export const checkSmsHttp = (settings: Settings): void => {
  const { provider, callback_addresses: addresses = [] } = settings
  const { required, optional } = settingsByProvider[provider]
  const missing = required.find((name) => settings[name] === undefined)
  if (missing !== undefined) throw refusals.requiredByProvider(missing, provider)
  const known: readonly string[] = [...required, ...optional, ...common]
  const foreign = Object.keys(settings).find((name) => !known.includes(name))
  if (foreign !== undefined) throw refusals.foreignToProvider(foreign, provider)
  for (const name of patternNames) {
    const fault = patternFault(settings[name])
    if (fault !== null) throw refusals.badPattern(name, fault)
  }
  const wrong = addresses.find((one) => !isNetwork(one))
  if (wrong !== undefined) throw refusals.badCallbackAddress(wrong)
  if (provider === 'generic') checkTemplates(settings)
}

/** Checks that a submit says what is sent to whom, and that no message chooses the host. @throws Problem */
const checkTemplates = ({ url = '', method, body = '', headers = {} }: Settings): void => {
  if (/^https?:\/\/[^/?]*\{/.test(url)) throw refusals.templateInHost()
  const sent = [url, method === 'GET' ? '' : body, ...Object.values(headers)]
  for (const value of ['to', 'text'])
    if (!sent.some((template) => template.includes(`{${value}}`))) throw refusals.templateLacks(value)
}

const patternFault = (pattern: string | undefined): string | null => {
  try {
    if (pattern !== undefined) compilePattern(pattern)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
