import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'
import { AnySettings, ChangedSettings, kindNames, settingsByKind } from './connection-kinds.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: connections' } as const

const KindSchema = Enum(kindNames, { description: 'Protocol of the connection' })

const LinkSchema = {
  state: Enum(['connecting', 'bound', 'up', 'down', 'closed']),
  since: Time,
  last_error: Type.Optional(Type.String({ examples: ['bind refused: ESME_RINVPASWD'] })),
  fatal: Type.Boolean({ description: 'The carrier refused the account itself: retried only after five minutes' }),
  in_flight: Type.Integer(),
  submitted: Type.Integer({ description: 'Parts submitted, or requests made, since the start' }),
}

const ClockSkew = Type.Optional(
  Type.Number({
    description:
      'Seconds by which the clock of the database is ahead of that of the process, negative if it is behind; absent up to 2 s. Synchronise both',
  }),
)

const Connection = Named(
  'Connection',
  Type.Object({
    uuid: Id('CNX'),
    kind: KindSchema,
    name: Type.String(),
    settings: Type.Record(Type.String(), Type.Unknown(), { description: 'Without secrets: they are never returned' }),
    enabled: Type.Boolean(),
    shared: Type.Optional(Type.Boolean({ description: 'Messaging networks: every account may use the connection' })),
    account_uuids: Type.Optional(
      Type.Array(Id('ACC'), { description: 'Messaging networks: the accounts that may use the connection' }),
    ),
    state: Type.Optional(
      Named(
        'ConnectionState',
        Type.Object(
          {
            ...LinkSchema,
            registered: Type.Optional(Type.Boolean({ description: 'Trunks with registration' })),
            calls: Type.Optional(Type.Integer({ description: 'Current calls over the trunk' })),
            ping_ms: Type.Optional(Type.Integer({ description: 'Round-trip time of the trunk’s last OPTIONS' })),
            pinged_at: Type.Optional(Time),
            clock_skew_seconds: ClockSkew,
            binds: Type.Optional(
              Type.Array(
                Named(
                  'SmppBindState',
                  Type.Object({ bind: Enum(['transceiver', 'transmitter', 'receiver']), ...LinkSchema }),
                ),
              ),
            ),
            receipts: Type.Optional(
              Named(
                'MissingReceipts',
                Type.Object(
                  {
                    waiting: Type.Integer({
                      description: 'Parts without a final receipt that the carrier is asked for',
                    }),
                    without_receipt: Type.Integer({
                      description: 'Messages whose receipt had not come an hour after the validity: no_receipt',
                    }),
                    refused_at: Type.Optional(Time),
                  },
                  {
                    description:
                      'Carriers of SMS: missing receipts. refused_at: when the carrier refused to be asked; it is asked again a day later',
                  },
                ),
              ),
            ),
            processes: Type.Optional(
              Type.Array(
                Named(
                  'ConnectionProcessState',
                  Type.Object({
                    process: Type.String({ examples: ['host-1, process 4711'] }),
                    slots: Type.Optional(
                      Type.Integer({
                        description: 'Slots of the connection that the process holds, if it has several',
                      }),
                    ),
                    ...LinkSchema,
                    clock_skew_seconds: ClockSkew,
                  }),
                ),
                {
                  description: 'The processes that run the connection',
                },
              ),
            ),
          },
          { description: 'Live state from the process that runs the connection; absent when none does' },
        ),
      ),
    ),
    created_at: Time,
    updated_at: Time,
  }),
)

/** Accounts that may use a connection. */
const access = {
  shared: Type.Optional(
    Type.Boolean({ description: 'Messaging networks only: every account may use the connection. Default: false' }),
  ),
  account_uuids: Type.Optional(
    Type.Array(Id('ACC'), {
      maxItems: 1000,
      description:
        'Messaging networks only: the accounts that may use the connection, replacing the previous list. Default for a new unshared connection: the first account',
    }),
  ),
}

const params = Type.Object({ connection_uuid: Id('CNX') })
const errors = { notFound: 'No such connection' }
const settingsErrors = { conflict: 'Another connection has this name' }

export const createConnection = contract({
  ...operator,
  id: 'createConnection',
  proof: true,
  client: 'connections.create',
  method: 'POST',
  url: '/operator/connections',
  summary: 'Connect a carrier or a supplier of numbers; it takes effect at once',
  description: 'Secrets are encrypted and never returned. Use testConnection to check that the connection comes up.',
  body: Type.Object(
    { kind: KindSchema, name: FreeText(100), settings: AnySettings, enabled: Type.Optional(Type.Boolean()), ...access },
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
  client: 'connections.list',
  method: 'GET',
  url: '/operator/connections',
  summary: 'Connections with their live state',
  description: 'Secrets are never returned. Disabled connections are listed too.',
  query: Type.Object({
    kind: Type.Optional(Enum(kindNames)),
    name: Type.Optional(Type.String({ maxLength: 100, description: 'Only the connection of this name' })),
  }),
  status: 200,
  reply: Ok({ count: Type.Integer(), connections: Type.Array(Connection) }),
  errors: {},
  cli: 'connections list',
})

export const getConnection = contract({
  ...operator,
  id: 'getConnection',
  client: 'connections.get',
  method: 'GET',
  url: '/operator/connections/:connection_uuid',
  summary: 'One connection with its live state',
  description:
    'Secrets are never returned. The live state shows errors, load and the processes that run the connection.',
  params,
  status: 200,
  reply: Ok({ connection: Connection }),
  errors,
  cli: 'connections show',
})

export const changeConnection = contract({
  ...operator,
  id: 'changeConnection',
  proof: true,
  client: 'connections.update',
  method: 'PATCH',
  url: '/operator/connections/:connection_uuid',
  summary: 'Change a connection; omitted settings stay, and null clears an optional one',
  description:
    'The new settings take effect at once; the connection may be interrupted briefly. Secrets are never returned.',
  params,
  body: Type.Object(
    {
      name: Type.Optional(FreeText(100)),
      settings: Type.Optional(ChangedSettings),
      enabled: Type.Optional(Type.Boolean()),
      ...access,
    },
    { examples: [{ enabled: false }] },
  ),
  status: 200,
  reply: Ok({ connection: Connection }),
  codes: { conflict: ['conflict', 'channels_open'] },
  errors: {
    notFound: 'No such connection, or an account of account_uuids does not exist',
    conflict: 'Another connection has this name, or an account that is left out has channels there (channels_open)',
  },
  cli: 'connections change',
})

export const deleteConnection = contract({
  ...operator,
  id: 'deleteConnection',
  proof: true,
  client: 'connections.delete',
  method: 'DELETE',
  url: '/operator/connections/:connection_uuid',
  summary: 'Disconnect and delete a connection',
  description: 'Disable a connection with changeConnection to interrupt it only.',
  params,
  status: 200,
  reply: Success,
  codes: { conflict: ['orders_open', 'channels_open'] },
  errors: {
    ...errors,
    conflict: 'Orders at this supplier are still open, or the connection carries numbers of the messaging app',
  },
  cli: 'connections delete',
})

export const testConnection = contract({
  ...operator,
  id: 'testConnection',
  client: 'connections.test',
  method: 'POST',
  waits: true,
  url: '/operator/connections/:connection_uuid/test',
  summary: 'Test the connection in the process that runs it: waits up to 10 s for it to come up',
  description: 'The reply states whether the connection works, and the cause of a failure.',
  params,
  status: 200,
  reply: Ok({ working: Type.Boolean(), message: Type.String({ examples: ['bound'] }) }),
  errors,
  cli: 'connections test',
})
