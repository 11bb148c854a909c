import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Time, Words } from '../http/schema.ts'
import { AnySettings, ChangedSettings, kindNames, settingsByKind } from './kinds.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: connections' } as const

const Kind = Enum(kindNames, { description: 'What the connection speaks' })

const link = {
  state: Enum(['connecting', 'bound', 'up', 'down', 'closed']),
  since: Time,
  last_error: Type.Optional(Type.String({ examples: ['bind refused: ESME_RINVPASWD'] })),
  fatal: Type.Boolean({ description: 'The account itself was refused: it is tried again only after five minutes' }),
  in_flight: Type.Integer(),
  submitted: Type.Integer({ description: 'Parts submitted, or requests made, since the start' }),
}

const Connection = Type.Object({
  uuid: Id('CNX'),
  kind: Kind,
  name: Type.String(),
  settings: Type.Record(Type.String(), Type.Unknown(), { description: 'Without secrets: they are never shown again' }),
  enabled: Type.Boolean(),
  shared: Type.Optional(Type.Boolean({ description: 'Of a messaging network: every account may put numbers there' })),
  account_uuids: Type.Optional(
    Type.Array(Id('ACC'), { description: 'Of a messaging network: the accounts that may put numbers there' }),
  ),
  state: Type.Optional(
    Type.Object(
      {
        ...link,
        registered: Type.Optional(Type.Boolean({ description: 'Of a trunk that we register with' })),
        calls: Type.Optional(Type.Integer({ description: 'Under way over a trunk' })),
        ping_ms: Type.Optional(Type.Integer({ description: 'How long the last OPTIONS of a trunk took' })),
        pinged_at: Type.Optional(Time),
        binds: Type.Optional(
          Type.Array(Type.Object({ bind: Enum(['transceiver', 'transmitter', 'receiver']), ...link })),
        ),
      },
      { description: 'Live, of the process that answers; absent when it does not run the connection' },
    ),
  ),
  created_at: Time,
  updated_at: Time,
})

/** Which accounts may put numbers on a connection. */
const access = {
  shared: Type.Optional(
    Type.Boolean({ description: 'Messaging networks only: every account may put numbers there; default false' }),
  ),
  account_uuids: Type.Optional(
    Type.Array(Id('ACC'), {
      maxItems: 1000,
      description:
        'Messaging networks only: the accounts that may put numbers there, instead of those before. Default of a new connection that is not shared: the first account',
    }),
  ),
}

const params = Type.Object({ connection_uuid: Id('CNX') })
const errors = { notFound: 'No such connection' }
const settingsErrors = { conflict: 'Another connection has this name' }

export const createConnection = contract({
  ...operator,
  id: 'createConnection',
  method: 'POST',
  url: '/operator/connections',
  summary: 'Connect a carrier or a supplier of numbers; it takes effect at once',
  body: Type.Object(
    { kind: Kind, name: Words(100), settings: AnySettings, enabled: Type.Optional(Type.Boolean()), ...access },
    settingsByKind,
  ),
  status: 201,
  reply: Ok({ connection: Connection }),
  errors: { ...settingsErrors, notFound: 'An account of account_uuids does not exist' },
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
  summary: 'Change a connection; settings that are not given stay, and null clears an optional one',
  params,
  body: Type.Object({
    name: Type.Optional(Words(100)),
    settings: Type.Optional(ChangedSettings),
    enabled: Type.Optional(Type.Boolean()),
    ...access,
  }),
  status: 200,
  reply: Ok({ connection: Connection }),
  errors: {
    notFound: 'No such connection, or an account of account_uuids does not exist',
    conflict: 'Another connection has this name, or an account that is left out has channels there (channels_open)',
  },
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
  errors: {
    ...errors,
    conflict: 'Orders at this supplier have not ended, or the connection carries numbers of the messaging app',
  },
  cli: 'connections delete',
})

export const testConnection = contract({
  ...operator,
  id: 'testConnection',
  method: 'POST',
  waits: true,
  url: '/operator/connections/:connection_uuid/test',
  summary: 'Try the connection: waits up to 10 s for it to come up',
  params,
  status: 200,
  reply: Ok({ working: Type.Boolean(), message: Type.String({ examples: ['bound'] }) }),
  errors,
  cli: 'connections test',
})
