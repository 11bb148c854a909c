import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { Enum } from '../http/schema.ts'
import {
  Ascii,
  authority,
  baseUrl,
  callingCode,
  count,
  Domain,
  host,
  LocalPart,
  password,
  port,
  prefixes,
  priority,
  rate,
  reconnectSeconds,
  sandboxed,
  secret,
  serverName,
} from './fields.ts'
import { SipTrunk } from './trunk.ts'

/** Settings of an SMPP connection (SMPP 3.4); names as carriers write them. */
const Smpp = Type.Object({
  host,
  port,
  system_id: Type.String({ maxLength: 64, examples: ['esme'] }),
  password,
  system_type: Type.Optional(Ascii(12)),
  interface_version: Type.Optional(Enum(['3.3', '3.4', '5.0'], { description: 'What a bind says; default 3.4' })),
  address_range: Type.Optional(Ascii(40)),
  bind: Type.Optional(
    Enum(['transceiver', 'transmitter', 'receiver', 'pair'], {
      description: 'Default transceiver; pair is a transmitter and a receiver',
    }),
  ),
  binds: Type.Optional(count(1, 20, 'How many binds, or pairs of them; default 1')),
  tls: Type.Optional(Type.Boolean()),
  tls_ca: Type.Optional(authority),
  tls_server_name: Type.Optional(serverName),
  window: Type.Optional(count(1, 1000, 'Unanswered submits of a bind at a time; default 10')),
  tps: Type.Optional(rate('Parts a second over all binds; default no limit')),
  tps_per_sender: Type.Optional(rate('Parts a second of one sending number; default no limit')),
  long: Type.Optional(
    Enum(['udh8', 'udh16', 'sar', 'payload'], { description: 'How long texts are tied; default udh8' }),
  ),
  service_type: Type.Optional(Ascii(5)),
  source_ton: Type.Optional(count(0, 6, 'Type of the sending number; default by the number')),
  source_npi: Type.Optional(count(0, 18, 'Numbering plan of the sending number; default by the number')),
  destination_ton: Type.Optional(count(0, 6, 'Type of the destination; default by the number')),
  destination_npi: Type.Optional(count(0, 18, 'Numbering plan of the destination; default by the number')),
  gsm_data_coding: Type.Optional(count(0, 255, 'data_coding of texts in the GSM alphabet; default 0')),
  alphabet: Type.Optional(
    Enum(['gsm7', 'latin1'], { description: 'What data_coding 0 means in texts that come in; default gsm7' }),
  ),
  calling_code: Type.Optional(callingCode),
  response_seconds: Type.Optional(count(1, 300, 'How long a request waits for its answer; default 10')),
  enquire_seconds: Type.Optional(
    count(1, 3600, 'Silence after which the carrier is asked whether it lives; default 30'),
  ),
  reconnect_seconds: Type.Optional(reconnectSeconds),
  prefixes: Type.Optional(prefixes),
  priority: Type.Optional(priority),
  weight: Type.Optional(
    count(1, 1000, 'Its share of the texts among connections of the same prefix and priority; default 1'),
  ),
  policy: Type.Optional(
    Enum(['resubmit', 'hold', 'at_most_once'], {
      description:
        'When the answer to a submit is lost: submit again at once (default), wait a minute for a receipt and then submit again, or never again',
    }),
  ),
  validity_seconds: Type.Optional(
    count(60, 604_800, 'How long a text may be tried, by us and by the carrier; default 48 hours, by us alone'),
  ),
  sandbox: Type.Optional(sandboxed),
})

/** Settings of an account at DIDWW (API 3, version 2026-04-16). */
const Didww = Type.Object({
  api_key: secret(200, 'Key of API 3, from the user panel'),
  callback_secret: Type.Optional(
    secret(200, 'The callback secret that is enabled in the user panel; without one orders are only polled'),
  ),
  base_url: Type.Optional(baseUrl),
  countries: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), {
      maxItems: 100,
      description: 'ISO 3166-1 alpha-2 of the countries that are offered; default all',
    }),
  ),
  requests_per_second: Type.Optional(
    count(1, 19, 'Of each process; the supplier allows 20 for a key; default 5, for three processes'),
  ),
  markup_percent: Type.Optional(
    Type.Number({ minimum: 0, maximum: 10_000, description: 'Added to the prices of the supplier; default 0' }),
  ),
  ppm: Type.Optional(
    Type.String({
      pattern: '^\\d{1,6}(\\.\\d{1,6})?$',
      maxLength: 13,
      description: 'Price of an inbound minute in US dollars; default 0.00',
      examples: ['0.01'],
    }),
  ),
})

/** The chat network of the sandbox: the platform makes this connection itself. */
const Sandbox = Type.Object({
  host,
  port,
  token: secret(200, 'What the network lets us in by'),
})

/** Settings of a link to an XMPP server (RFC 6120). */
const Xmpp = Type.Object(
  {
    mode: Enum(['component', 'client'], {
      description: 'component: one link for all numbers (XEP-0114); client: a login for each number',
    }),
    host,
    port,
    domain: Domain('Where people are: +447911123456 is 447911123456@domain'),
    component: Type.Optional(Domain('Component mode: the address that the numbers are under')),
    secret: Type.Optional(secret(200, 'Component mode: what the server knows the component by')),
    password: Type.Optional(password),
    admin: Type.Optional(
      LocalPart('Who may ask whether numbers exist (XEP-0133): an account, or a name under the component'),
    ),
    admin_password: Type.Optional(secret(200, 'Client mode: the password of the account that admin names')),
    encryption: Type.Optional(
      Enum(['starttls', 'direct', 'none'], { description: 'Default starttls; in component mode none' }),
    ),
    tls_ca: Type.Optional(authority),
    tls_server_name: Type.Optional(serverName),
    groups: Type.Optional(Domain('The service for groups (XEP-0045); found by asking domain unless told')),
    upload: Type.Optional(Domain('The service for files (XEP-0363); found by asking domain unless told')),
    reconnect_seconds: Type.Optional(reconnectSeconds),
  },
  {
    if: { properties: { mode: { const: 'component' } }, required: ['mode'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['component', 'secret'] },
  },
)

/** Settings of a WhatsApp business account at the Graph API (Cloud API). */
const WhatsappCloud = Type.Object({
  business_account_id: Type.String({
    pattern: '^[0-9]{1,32}$',
    description: 'Of the WhatsApp business account whose numbers are channels',
  }),
  access_token: secret(
    1000,
    'Token of a system user with whatsapp_business_messaging and whatsapp_business_management',
  ),
  app_secret: secret(200, 'Secret of the app that the token is of: the network signs with it what it tells'),
  verify_token: secret(200, 'Any words; the same are typed in where the app is told our callback address'),
  base_url: Type.Optional(baseUrl),
  version: Type.Optional(
    Type.String({ pattern: '^v[0-9]{1,3}\\.[0-9]{1,3}$', description: 'Of the Graph API; default v21.0' }),
  ),
})

/** Settings of numbers that are linked as WhatsApp Web (docs/whatsapp-web.md). */
const WhatsappWeb = Type.Object({
  accept_notice: Type.Optional(
    Type.Boolean({
      description:
        'true once whoever answers for the numbers knows: its provider’s terms forbid automated use, numbers are banned for it, and the library that speaks it is unofficial and installed apart',
    }),
  ),
  linking: Type.Optional(
    Enum(['qr', 'code'], { description: 'qr: the phone scans a code (default); code: one is typed into the phone' }),
  ),
  client_version: Type.Optional(
    Type.String({
      pattern: '^[0-9]{1,3}[.][0-9]{1,6}[.][0-9]{1,12}$',
      description: 'Of the application, where the network refuses the library’s own',
      examples: ['2.3000.1043857760'],
    }),
  ),
  websocket_url: Type.Optional(
    Type.String({
      pattern: '^wss?://[^\\s?#]+$',
      maxLength: 300,
      description: 'Default wss://web.whatsapp.com/ws/chat',
    }),
  ),
})

type Kinds = {
  readonly [kind: string]: {
    readonly settings: TSchema & { properties: TProperties }
    readonly secrets: readonly string[]
  }
}

/** What connections speak: the settings of each kind, and which of them are secrets. A name means the same in every kind. */
export const kinds = {
  smpp: { settings: Smpp, secrets: ['password'] },
  didww: { settings: Didww, secrets: ['api_key', 'callback_secret'] },
  sandbox: { settings: Sandbox, secrets: ['token'] },
  xmpp: { settings: Xmpp, secrets: ['secret', 'password', 'admin_password'] },
  'sip-trunk': { settings: SipTrunk, secrets: ['password'] },
  'whatsapp-cloud': { settings: WhatsappCloud, secrets: ['access_token', 'app_secret', 'verify_token'] },
  'whatsapp-web': { settings: WhatsappWeb, secrets: [] },
} as const satisfies Kinds

export type Kind = keyof typeof kinds

export type SettingsOf = { [K in Kind]: Static<(typeof kinds)[K]['settings']> }

// Object.keys forgets the names' types.
export const kindNames = Object.keys(kinds) as [Kind, ...Kind[]]

const every: TProperties = Object.assign({}, ...Object.values(kinds).map(({ settings }) => settings.properties))

/** The settings of every kind, all optional: for the options of the command line, and for documentation. */
export const AnySettings = Type.Object(
  Object.fromEntries(Object.entries(every).map(([name, schema]) => [name, Type.Optional(schema)])),
  {
    description: 'Of the kind of connection; others are refused',
    examples: [{ host: 'smsc.example.net', port: 2775, system_id: 'me', password: 'secret' }],
  },
)

/** A setting that null clears. The marks of the setting lie on the whole, where readers of schemas look for them. */
const clearable = (schema: TSchema): TSchema => {
  const marks = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => keyword === 'description' || keyword === 'x-confidential'),
  )
  return Type.Optional(Type.Union([schema, Type.Null()], marks))
}

/** The settings of a change: those of every kind. */
export const ChangedSettings = Type.Object(
  Object.fromEntries(Object.entries(every).map(([name, schema]) => [name, clearable(schema)])),
  {
    description: 'Of the kind of connection; others are refused. null clears an optional setting',
    examples: [{ host: 'smsc.example.net', prefixes: null }],
  },
)

/** Keywords of JSON Schema for an object with `kind` and `settings`: the settings are those of the kind. */
export const settingsByKind = {
  allOf: Object.entries(kinds).map(([kind, { settings }]) => ({
    if: { properties: { kind: { const: kind } }, required: ['kind'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { settings } },
  })),
}

/** The schema of a change: nothing is wanted. */
export const changes: { readonly [K in Kind]: TSchema } = {
  smpp: Type.Partial(Smpp),
  didww: Type.Partial(Didww),
  sandbox: Type.Partial(Sandbox),
  xmpp: Type.Partial(Xmpp),
  'sip-trunk': Type.Partial(SipTrunk),
  'whatsapp-cloud': Type.Partial(WhatsappCloud),
  'whatsapp-web': Type.Partial(WhatsappWeb),
}
