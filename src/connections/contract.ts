import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Time, Words } from '../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: connections' } as const

const Kind = Enum(['smpp'], { description: 'What the connection speaks' })

const count = (minimum: number, maximum: number, description: string) => Type.Integer({ minimum, maximum, description })

const rate = (description: string) => Type.Number({ exclusiveMinimum: 0, maximum: 100_000, description })

/** A C-octet string. */
const Ascii = (maxLength: number) => Type.String({ maxLength, pattern: '^[ -~]*$' })

/** Settings of an SMPP connection (SMPP 3.4); names as carriers write them. */
const Smpp = Type.Object({
  host: Type.String({ minLength: 1, maxLength: 253, examples: ['127.0.0.1'] }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, examples: [2775] }),
  system_id: Type.String({ maxLength: 64, examples: ['esme'] }),
  password: Type.String({ maxLength: 64, description: 'Sealed at rest and never shown again', examples: ['secret'] }),
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
  tls_ca: Type.Optional(
    Type.String({ maxLength: 100_000, description: 'PEM of the authority that alone is believed' }),
  ),
  tls_server_name: Type.Optional(Type.String({ maxLength: 253 })),
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
  response_seconds: Type.Optional(count(1, 300, 'How long a request waits for its answer; default 10')),
  enquire_seconds: Type.Optional(
    count(1, 3600, 'Silence after which the carrier is asked whether it lives; default 30'),
  ),
  reconnect_seconds: Type.Optional(count(1, 3600, 'The longest wait between attempts to connect; default 60')),
  prefixes: Type.Optional(
    Type.Array(Type.String({ pattern: '^[0-9]{1,15}$' }), {
      maxItems: 5000,
      description: 'Leading digits of the destinations that it carries; empty: every destination',
    }),
  ),
  priority: Type.Optional(count(0, 1000, 'Among connections that fit equally well the lowest is used; default 100')),
  sandbox: Type.Optional(
    Type.Boolean({ description: 'No real carrier: carries only what no other connection has prefixes for' }),
  ),
})

const link = {
  state: Enum(['connecting', 'bound', 'down', 'closed']),
  since: Time,
  last_error: Type.Optional(Type.String({ examples: ['bind refused: ESME_RINVPASWD'] })),
  fatal: Type.Boolean({ description: 'The account itself was refused: it is tried again only after five minutes' }),
  in_flight: Type.Integer(),
  submitted: Type.Integer({ description: 'Parts submitted since the start' }),
}

const Connection = Type.Object({
  uuid: Id('CNX'),
  kind: Kind,
  name: Type.String(),
  settings: Type.Record(Type.String(), Type.Unknown(), { description: 'Without secrets: they are never shown again' }),
  enabled: Type.Boolean(),
  state: Type.Optional(
    Type.Object(
      {
        ...link,
        binds: Type.Array(Type.Object({ bind: Enum(['transceiver', 'transmitter', 'receiver']), ...link })),
      },
      { description: 'Live, of the process that answers; absent when it does not run the connection' },
    ),
  ),
  created_at: Time,
  updated_at: Time,
})

const params = Type.Object({ connection_uuid: Id('CNX') })
const errors = { notFound: 'No such connection' }
const settingsErrors = { conflict: 'Another connection has this name' }

export const createConnection = contract({
  ...operator,
  id: 'createConnection',
  method: 'POST',
  url: '/operator/connections',
  summary: 'Connect a carrier; it takes effect at once',
  body: Type.Object({ kind: Kind, name: Words(100), settings: Smpp, enabled: Type.Optional(Type.Boolean()) }),
  status: 201,
  reply: Ok({ connection: Connection }),
  errors: settingsErrors,
  cli: 'connections create',
})

export const listConnections = contract({
  ...operator,
  id: 'listConnections',
  method: 'GET',
  url: '/operator/connections',
  summary: 'All connections with their live state',
  status: 200,
  reply: Ok({ connections: Type.Array(Connection) }),
  errors: {},
  cli: 'connections list',
})

export const getConnection = contract({
  ...operator,
  id: 'getConnection',
  method: 'GET',
  url: '/operator/connections/:connection_uuid',
  summary: 'One connection with its live state',
  params,
  status: 200,
  reply: Ok({ connection: Connection }),
  errors,
  cli: 'connections show',
})

export const changeConnection = contract({
  ...operator,
  id: 'changeConnection',
  method: 'PATCH',
  url: '/operator/connections/:connection_uuid',
  summary: 'Change a connection; settings that are not given stay as they are',
  params,
  body: Type.Object({
    name: Type.Optional(Words(100)),
    settings: Type.Optional(Type.Partial(Smpp)),
    enabled: Type.Optional(Type.Boolean()),
  }),
  status: 200,
  reply: Ok({ connection: Connection }),
  errors: { ...errors, ...settingsErrors },
  cli: 'connections change',
})

export const deleteConnection = contract({
  ...operator,
  id: 'deleteConnection',
  method: 'DELETE',
  url: '/operator/connections/:connection_uuid',
  summary: 'Disconnect and forget a connection',
  params,
  status: 200,
  reply: Ok({}),
  errors,
  cli: 'connections delete',
})

export const testConnection = contract({
  ...operator,
  id: 'testConnection',
  method: 'POST',
  url: '/operator/connections/:connection_uuid/test',
  summary: 'Try the connection: waits up to 10 s for it to come up',
  params,
  status: 200,
  reply: Ok({ working: Type.Boolean(), message: Type.String({ examples: ['bound'] }) }),
  errors,
  cli: 'connections test',
})
