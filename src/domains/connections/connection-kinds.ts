import { languageNames } from '@trunkline/phone/gsm-national.ts'
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { Enum, Named } from '../../platform/http/schema.ts'
import {
  Ascii,
  apiKey,
  authority,
  baseUrl,
  callbackSecret,
  callingCode,
  count,
  Domain,
  host,
  LocalPart,
  password,
  port,
  receiptStates,
  reconnectSeconds,
  responseSeconds,
  secret,
  serverName,
  token,
  tps,
  tpsPerSender,
  window,
} from './setting-schemas.ts'
import { SipTrunk } from './sip-trunk-settings.ts'
import { SmsHttp } from './sms-http-settings.ts'
import { smsRouting } from './sms-routing-settings.ts'

/** Settings of an SMPP connection (SMPP 3.4), with the names that carriers use. */
const Smpp = Named(
  'SmppSettings',
  Type.Object({
    host,
    port,
    system_id: Type.String({ maxLength: 64, examples: ['esme'] }),
    password,
    system_type: Type.Optional(Ascii(12)),
    interface_version: Type.Optional(
      Enum(['3.3', '3.4', '5.0'], { description: 'Interface version in the bind. Default: 3.4' }),
    ),
    address_range: Type.Optional(Ascii(40)),
    bind: Type.Optional(
      Enum(['transceiver', 'transmitter', 'receiver', 'pair'], {
        description: 'Default: transceiver; pair is a transmitter and a receiver',
      }),
    ),
    binds: Type.Optional(count(1, 20, 'Number of binds, or pairs of binds. Default: 1')),
    tls: Type.Optional(Type.Boolean()),
    tls_ca: Type.Optional(authority),
    tls_server_name: Type.Optional(serverName),
    window: Type.Optional(window),
    tps: Type.Optional(tps),
    tps_per_sender: Type.Optional(tpsPerSender),
    long: Type.Optional(
      Enum(['udh8', 'udh16', 'sar', 'payload'], { description: 'Concatenation of long messages. Default: udh8' }),
    ),
    national_languages: Type.Optional(
      Type.Array(Enum(languageNames), {
        uniqueItems: true,
        maxItems: 13,
        description:
          'Languages whose shift tables (3GPP TS 23.038) the carrier and its handsets support: used for messages that take fewer parts with one of them than in UCS-2; requires long udh8 or udh16. Default: none',
        examples: [['turkish']],
      }),
    ),
    service_type: Type.Optional(Ascii(5)),
    source_ton: Type.Optional(count(0, 6, 'Type of the sending number. Default: derived from the number')),
    source_npi: Type.Optional(count(0, 18, 'Numbering plan of the sending number. Default: derived from the number')),
    destination_ton: Type.Optional(count(0, 6, 'Type of the destination. Default: derived from the number')),
    destination_npi: Type.Optional(count(0, 18, 'Numbering plan of the destination. Default: derived from the number')),
    gsm_data_coding: Type.Optional(count(0, 255, 'data_coding of messages in the GSM alphabet. Default: 0')),
    alphabet: Type.Optional(
      Enum(['gsm7', 'latin1'], { description: 'Meaning of data_coding 0 in inbound messages. Default: gsm7' }),
    ),
    receipt_states: Type.Optional(receiptStates),
    receipts_without_esm_class: Type.Optional(
      Type.Boolean({
        description:
          'true: also reads receipts whose esm_class is 0, if a part was sent to their handset under their id; others are messages. Default: false',
      }),
    ),
    query_sm: Type.Optional(
      Type.Boolean({
        description:
          'false: never asks the carrier with query_sm for parts whose receipt is missing. Default: true, unless the carrier refuses such requests',
      }),
    ),
    calling_code: Type.Optional(callingCode),
    response_seconds: Type.Optional(responseSeconds),
    enquire_seconds: Type.Optional(count(1, 3600, 'Idle time before an enquire_link. Default: 30')),
    reconnect_seconds: Type.Optional(reconnectSeconds),
    ...smsRouting,
  }),
)

/** Settings of an account at DIDWW (API 3, version 2026-04-16). */
const Didww = Named(
  'DidwwSettings',
  Type.Object({
    api_key: apiKey,
    callback_secret: Type.Optional(callbackSecret),
    base_url: Type.Optional(baseUrl),
    countries: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), {
        maxItems: 100,
        description: 'ISO 3166-1 alpha-2 of the offered countries. Default: all',
      }),
    ),
    requests_per_second: Type.Optional(
      count(1, 19, 'Limit per process; the supplier allows 20 per key. Default: 5, for three processes'),
    ),
    markup_percent: Type.Optional(
      Type.Number({ minimum: 0, maximum: 10_000, description: 'Markup on the supplier’s prices. Default: 0' }),
    ),
    ppm: Type.Optional(
      Type.String({
        pattern: '^\\d{1,6}(\\.\\d{1,6})?$',
        maxLength: 13,
        description: 'Price of an inbound minute in US dollars. Default: 0.00',
        examples: ['0.01'],
      }),
    ),
  }),
)

/** The chat network of the sandbox: the platform creates this connection itself. */
const Sandbox = Named(
  'SandboxSettings',
  Type.Object({
    host,
    port,
    token,
  }),
)

/** Settings of a link to an XMPP server (RFC 6120). */
const Xmpp = Named(
  'XmppSettings',
  Type.Object(
    {
      mode: Enum(['component', 'client'], {
        description: 'component: one link for all numbers (XEP-0114); client: a login for each number',
      }),
      host,
      port,
      domain: Domain('Domain of the contacts: +447911123456 is 447911123456@domain'),
      component: Type.Optional(Domain('Component mode: the domain of the numbers')),
      secret: Type.Optional(secret(200, 'Component mode: the component’s shared secret')),
      password: Type.Optional(password),
      admin: Type.Optional(
        LocalPart('Account that may query whether numbers exist (XEP-0133), or a name under the component'),
      ),
      admin_password: Type.Optional(secret(200, 'Client mode: the password of the account that admin names')),
      encryption: Type.Optional(
        Enum(['starttls', 'direct', 'none'], { description: 'Default: starttls; in component mode none' }),
      ),
      tls_ca: Type.Optional(authority),
      tls_server_name: Type.Optional(serverName),
      groups: Type.Optional(Domain('The service for groups (XEP-0045). Default: discovered through domain')),
      upload: Type.Optional(Domain('The service for files (XEP-0363). Default: discovered through domain')),
      reconnect_seconds: Type.Optional(reconnectSeconds),
    },
    {
      if: { properties: { mode: { const: 'component' } }, required: ['mode'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { component: {}, secret: {} }, required: ['component', 'secret'] },
    },
  ),
)

/** Settings of a WhatsApp business account at the Graph API (Cloud API). */
const WhatsappCloud = Named(
  'WhatsappCloudSettings',
  Type.Object({
    business_account_id: Type.String({
      pattern: '^[0-9]{1,32}$',
      description: 'Id of the WhatsApp business account whose numbers are channels',
    }),
    access_token: secret(
      1000,
      'Token of a system user with whatsapp_business_messaging and whatsapp_business_management',
    ),
    app_secret: secret(200, 'App secret of the token’s app: the network signs its callbacks with it'),
    verify_token: secret(200, 'Any words; enter the same where the app is given our callback address'),
    base_url: Type.Optional(baseUrl),
    version: Type.Optional(
      Type.String({ pattern: '^v[0-9]{1,3}\\.[0-9]{1,3}$', description: 'Version of the Graph API. Default: v21.0' }),
    ),
  }),
)

/** Settings of numbers that are linked as WhatsApp Web (docs/whatsapp-web.md). */
const WhatsappWeb = Named(
  'WhatsappWebSettings',
  Type.Object({
    accept_notice: Type.Optional(
      Type.Boolean({
        description:
          'true once the person responsible for the numbers accepts the risk: the provider’s terms forbid automated use, numbers are banned for it, and the library is unofficial and installed separately',
      }),
    ),
    linking: Type.Optional(
      Enum(['qr', 'code'], {
        description: 'qr: the phone scans a code (default); code: the user types one into the phone',
      }),
    ),
    client_version: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,3}[.][0-9]{1,6}[.][0-9]{1,12}$',
        description: 'Version of the application, if the network refuses the library’s own',
        examples: ['2.3000.1043857760'],
      }),
    ),
    websocket_url: Type.Optional(
      Type.String({
        pattern: '^wss?://[^\\s?#]+$',
        maxLength: 300,
        description: 'Default: wss://web.whatsapp.com/ws/chat',
      }),
    ),
  }),
)

/** The port (src/ports) that the adapter of a kind implements. */
export type ConnectionPort = 'sms' | 'supplier' | 'chat' | 'voice'

type Kinds = {
  readonly [kind: string]: {
    readonly port: ConnectionPort
    readonly settings: TSchema & { properties: TProperties }
    readonly secrets: readonly string[]
  }
}

/** The settings of each kind of connection, and which of them are secrets. A name means the same in every kind. */
export const kinds = {
  smpp: { port: 'sms', settings: Smpp, secrets: ['password'] },
  'sms-http': {
    port: 'sms',
    settings: SmsHttp,
    secrets: ['auth_token', 'api_key', 'api_secret', 'signature_secret', 'password', 'callback_secret', 'token'],
  },
  didww: { port: 'supplier', settings: Didww, secrets: ['api_key', 'callback_secret'] },
  sandbox: { port: 'chat', settings: Sandbox, secrets: ['token'] },
  xmpp: { port: 'chat', settings: Xmpp, secrets: ['secret', 'password', 'admin_password'] },
  'sip-trunk': { port: 'voice', settings: SipTrunk, secrets: ['password'] },
  'whatsapp-cloud': { port: 'chat', settings: WhatsappCloud, secrets: ['access_token', 'app_secret', 'verify_token'] },
  'whatsapp-web': { port: 'chat', settings: WhatsappWeb, secrets: [] },
} as const satisfies Kinds

export type ConnectionKind = keyof typeof kinds

export type SettingsOf = { [K in ConnectionKind]: Static<(typeof kinds)[K]['settings']> }

// A cast, as Object.keys loses the types of the keys.
export const kindNames = Object.keys(kinds) as [ConnectionKind, ...ConnectionKind[]]

const allSettings: TProperties = Object.assign({}, ...Object.values(kinds).map(({ settings }) => settings.properties))

/** The settings of every kind, all optional: for the options of the command line, and for documentation. */
export const AnySettings = Named(
  'ConnectionSettings',
  Type.Object(Object.fromEntries(Object.entries(allSettings).map(([name, schema]) => [name, Type.Optional(schema)])), {
    description: 'Settings of the kind of connection; others are refused',
    examples: [{ host: 'smsc.example.net', port: 2775, system_id: 'me', password: 'secret' }],
  }),
)

/**
 * A setting that null clears. The annotations of the setting are on the outer schema, where schema readers look for
 * them.
 */
const clearable = (schema: TSchema): TSchema => {
  const marks = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => keyword === 'description' || keyword === 'x-confidential'),
  )
  return Type.Optional(Type.Union([schema, Type.Null()], marks))
}

/** The settings of a change: those of every kind. */
export const ChangedSettings = Named(
  'ConnectionSettingsChanges',
  Type.Object(Object.fromEntries(Object.entries(allSettings).map(([name, schema]) => [name, clearable(schema)])), {
    description: 'Settings of the kind of connection; others are refused. null clears an optional setting',
    examples: [{ host: 'smsc.example.net', prefixes: null }],
  }),
)

/** JSON Schema keywords for an object with `kind` and `settings`: the settings must be those of the kind. */
export const settingsByKind = {
  allOf: Object.entries(kinds).map(([kind, { settings }]) => ({
    if: { properties: { kind: { const: kind } }, required: ['kind'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { settings } },
  })),
}

const partialSchemas = new Map(kindNames.map((kind) => [kind, Type.Partial(kinds[kind].settings)]))

/** The schema of a change: no field is required. */
export const changeSchemaOf = (kind: ConnectionKind): TSchema => partialSchemas.get(kind) ?? kinds[kind].settings
