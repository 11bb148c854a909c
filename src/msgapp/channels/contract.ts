import { Type } from 'typebox'
import type { ChatAbility } from '../../connectors/chat-port.ts'
import { contract } from '../../http/endpoint.ts'
import { Enum, Id, Ok, Phone, paging, Time, Words } from '../../http/schema.ts'

const common = { auth: 'account', shape: 'full', tag: 'Messaging app: channels' } as const
const params = Type.Object({ channel_uuid: Id('WPN') })
const errors = { notFound: 'The account has no such channel' }

const Status = Enum(['C', 'D', 'F'], {
  description:
    'C connected: a round trip with the network of the last 12 seconds says so; D disconnected, or on the way; F failed: somebody must do something',
})

const Channel = Type.Object({
  id: Id('WPN'),
  uuid: Id('WPN'),
  friendly_name: Type.String(),
  phone_number: Type.String({ examples: ['+442079460000'] }),
  iso_country_code: Type.String({ examples: ['GB'] }),
  pushname: Type.String({ description: 'The name that others see; empty until the network has told it' }),
  server: Type.String({ examples: ['442079460000@c.us'] }),
  platform: Type.String({ description: 'The network', examples: ['sandbox'] }),
  connection_status: Status,
  enabled: Type.Boolean(),
  is_business_profile: Type.Boolean(),
  channel_type: Type.String({ examples: ['WW'] }),
  sync_contacts: Type.Boolean(),
  timezone: Type.String({ examples: ['Europe/London'] }),
  lang: Type.String({ examples: ['en'] }),
  created_at: Time,
  updated_at: Time,
})

export const listChannels = contract({
  ...common,
  id: 'listMsgappNumbers',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/get-numbers',
  summary: 'The account’s numbers on the messaging app, newest first',
  query: Type.Object({
    status: Type.Optional(Enum(['connected', 'disconnected', 'all'], { description: 'Default all' })),
    ...paging,
  }),
  status: 200,
  reply: Ok({
    numbers: Type.Array(Channel),
    count: Type.Integer({ description: 'In this page' }),
    page: Type.Integer(),
    total: Type.Integer(),
  }),
  errors: {},
})

export const createChannel = contract({
  ...common,
  id: 'createMsgappChannel',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/create',
  summary: 'Put a number on the messaging app; it is connected at once, or paired first',
  body: Type.Object({
    phone_number: Phone('The number, E.164'),
    friendly_name: Type.Optional(Words(100, 'Default: the number')),
    connection: Type.Optional(
      Words(
        100,
        'The connection that carries it, by its uuid or name: shared, or assigned to the account; default the first such one',
      ),
    ),
  }),
  status: 201,
  reply: Ok({ channel: Channel }),
  errors: {
    forbidden:
      'The account is blocked, the number is a channel already (phone_number_exists), or the network needs possession of the number proved before: own it, enter a code that is sent to it, or have the operator’s grant (number_unproved)',
    notFound: 'There is no such connection that is shared or assigned to the account',
  },
})

const Can = Enum(['yes', 'emulated', 'no'], {
  description: 'emulated: made of other means of the network, or only in part; no: asking for it is answered 406',
})

/** By the names of the port (connectors/chat-port.ts). */
const Abilities = Type.Object({
  send: Can,
  templates: Can,
  media: Can,
  location: Can,
  receipts: Can,
  read_receipts: Can,
  check: Can,
  check_extra: Can,
  picture: Can,
  status: Can,
  groups: Can,
  group_changes: Can,
  contacts: Can,
  history: Can,
  calls: Can,
  remove: Can,
  mark_read: Can,
} satisfies { [ability in ChatAbility]: typeof Can })

export const getChannel = contract({
  ...common,
  id: 'getMsgappChannel',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid',
  summary: 'One number of the account on the messaging app, and what its network can do',
  params,
  status: 200,
  reply: Ok({ channel: Channel, abilities: Type.Optional(Abilities) }),
  errors,
})

const Pairing = {
  qr_code: Type.Optional(Type.String({ description: 'While pairing: what a phone is to scan, as text of a QR code' })),
  pairing_code: Type.Optional(Type.String({ description: 'While pairing: what is typed into the phone instead' })),
  expires_at: Type.Optional(Time),
}

export const getChannelStatus = contract({
  ...common,
  id: 'getMsgappChannelStatus',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid/status',
  summary: 'How a channel stands, why, and what happened to it last',
  params,
  status: 200,
  reply: Ok({
    connection_status: Status,
    enabled: Type.Boolean(),
    phase: Enum(['connecting', 'pairing', 'connected', 'disconnected', 'failed']),
    reason: Type.String({ examples: ['the network let the number in'] }),
    since: Time,
    proof_age_seconds: Type.Optional(
      Type.Integer({ description: 'Since the last round trip with the network; absent before the first' }),
    ),
    ...Pairing,
    events: Type.Array(
      Type.Object({
        event: Type.String({
          examples: ['ready'],
          description:
            'initializing, qr-received, ready, disconnected, failed; set-aside: something that the network told cannot be kept here',
        }),
        detail: Type.String(),
        at: Time,
      }),
      { description: 'The last 10, newest first' },
    ),
  }),
  errors,
})

export const getChannelQr = contract({
  ...common,
  id: 'getMsgappChannelQrCode',
  needs: 'numbers',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid/qr-code',
  summary: 'What a phone is to scan so that the channel is connected',
  params,
  status: 200,
  reply: Ok({ connection_status: Status, ...Pairing }),
  errors: { ...errors, conflict: 'The channel is not waiting for a phone at this moment' },
})

export const connectChannel = contract({
  ...common,
  id: 'connectMsgappChannel',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/:channel_uuid/connect',
  summary: 'Connect a channel that was disconnected or has failed; one that is connected stays so',
  params,
  status: 200,
  reply: Ok({ channel: Channel }),
  errors,
})

export const disconnectChannel = contract({
  ...common,
  id: 'disconnectMsgappChannel',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/:channel_uuid/disconnect',
  summary: 'Disconnect a channel until it is connected again; what is sent meanwhile waits',
  params,
  status: 200,
  reply: Ok({ channel: Channel }),
  errors,
})

export const deleteChannel = contract({
  ...common,
  id: 'deleteMsgappChannel',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/msgapp/channel/:channel_uuid',
  summary: 'Take a number off the messaging app, logged out there',
  params,
  status: 200,
  reply: Ok({}),
  errors,
})
