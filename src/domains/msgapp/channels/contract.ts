import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import {
  Enum,
  FreeText,
  Id,
  Named,
  Ok,
  Phone,
  pageFields,
  pagingQuery,
  Success,
  Time,
} from '../../../platform/http/schema.ts'
import type { ChatCapability } from '../../../ports/chat.ts'

const common = { auth: 'account', shape: 'full', tag: 'Messaging app: channels' } as const
const params = Type.Object({ channel_uuid: Id('WPN') })
const errors = { notFound: 'The account has no such channel' }

const Status = Enum(['C', 'D', 'F'], {
  description:
    'C connected: a network round trip in the last 12 s; D disconnected or connecting; F failed: needs action',
})

const ProofAge = Type.Optional(
  Type.Integer({ description: 'Since the last round trip with the network; absent before the first' }),
)

const Channel = Named(
  'MsgappChannel',
  Type.Object({
    id: Id('WPN'),
    uuid: Id('WPN'),
    friendly_name: Type.String(),
    phone_number: Type.String({ examples: ['+442079460000'] }),
    iso_country_code: Type.String({ examples: ['GB'] }),
    pushname: Type.String({ description: 'Display name that others see; empty until the network reports it' }),
    server: Type.String({ examples: ['442079460000@c.us'] }),
    platform: Type.String({ description: 'The network', examples: ['sandbox'] }),
    connection_status: Status,
    reason: Type.String({ description: 'Why the status is as it is', examples: ['the network let the number in'] }),
    proof_age_seconds: ProofAge,
    enabled: Type.Boolean(),
    is_business_profile: Type.Boolean(),
    channel_type: Type.String({ examples: ['WW'] }),
    sync_contacts: Type.Boolean(),
    timezone: Type.String({ examples: ['Europe/London'] }),
    lang: Type.String({ examples: ['en'] }),
    created_at: Time,
    updated_at: Time,
  }),
)

export const listChannels = contract({
  ...common,
  id: 'listMsgappNumbers',
  csv: 'numbers',
  client: 'channels.list',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/get-numbers',
  summary: 'The account’s numbers on the messaging app, newest first',
  description: 'Filter by connection status and page by the query parameters.',
  query: Type.Object({
    status: Type.Optional(Enum(['connected', 'disconnected', 'all'], { description: 'Default all' })),
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({
    numbers: Type.Array(Channel),
    ...pageFields,
  }),
  errors: {},
})

export const createChannel = contract({
  ...common,
  id: 'createMsgappChannel',
  client: 'channels.create',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/create',
  summary: 'Put a number on the messaging app; it connects at once, or needs pairing first',
  description:
    'A channel that needs pairing shows its code under getMsgappChannelQrCode. ' +
    'Status changes are the event msgapp.number.status.',
  body: Type.Object({
    phone_number: Phone('The number, E.164'),
    friendly_name: Type.Optional(FreeText(100, 'Default: the number')),
    connection: Type.Optional(
      FreeText(
        100,
        'Connection of the channel, by uuid or name: shared, or assigned to the account. Default: the first such one',
      ),
    ),
  }),
  status: 201,
  reply: Ok({ channel: Channel }),
  errors: {
    forbidden:
      'The account is blocked; the number is already a channel (phone_number_exists: an unproved one of another account gives way to an account that possesses the number); or possession of the number is not proved (number_unproved): own it, enter a code sent to it, or have the operator’s grant',
    notFound: 'No such connection is shared or assigned to the account',
  },
})

const Can = Enum(['yes', 'emulated', 'no'], {
  description: 'emulated: built from other features of the network, or only in part; no: requests are answered 406',
})

/** Keyed by the names of the port (ports/chat.ts). */
const Abilities = Named(
  'MsgappAbilities',
  Type.Object({
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
  } satisfies { [ability in ChatCapability]: typeof Can }),
)

export const getChannel = contract({
  ...common,
  id: 'getMsgappChannel',
  client: 'channels.get',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid',
  summary: 'A number of the account on the messaging app, and its network’s abilities',
  description: 'The abilities show which operations the network of the channel supports.',
  params,
  status: 200,
  reply: Ok({ channel: Channel, abilities: Type.Optional(Abilities) }),
  errors,
})

const Pairing = {
  qr_code: Type.Optional(Type.String({ description: 'While pairing: the text of the QR code to scan' })),
  pairing_code: Type.Optional(Type.String({ description: 'While pairing: the code to type into the phone instead' })),
  expires_at: Type.Optional(Time),
}

export const getChannelStatus = contract({
  ...common,
  id: 'getMsgappChannelStatus',
  client: 'channels.status',
  needs: 'read_only',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid/status',
  summary: 'Status of a channel, its reason, and its latest events',
  description:
    'Use it to find out why a channel is not connected. The codes for pairing are shown with the scope numbers only.',
  params,
  status: 200,
  reply: Ok({
    connection_status: Status,
    enabled: Type.Boolean(),
    phase: Enum(['connecting', 'pairing', 'connected', 'disconnected', 'failed']),
    reason: Type.String({ examples: ['the network let the number in'] }),
    since: Time,
    proof_age_seconds: ProofAge,
    ...Pairing,
    events: Type.Array(
      Named(
        'MsgappChannelEvent',
        Type.Object({
          event: Type.String({
            examples: ['ready'],
            description:
              'initializing, qr-received, ready, disconnected, failed; set-aside: an inbound event could not be stored and is a dead letter',
          }),
          detail: Type.String(),
          at: Time,
        }),
      ),
      { description: 'The last 10, newest first' },
    ),
  }),
  errors,
})

export const getChannelQr = contract({
  ...common,
  id: 'getMsgappChannelQrCode',
  client: 'channels.qrCode',
  needs: 'numbers',
  method: 'GET',
  url: '/open/msgapp/channel/:channel_uuid/qr-code',
  summary: 'Pairing code to scan with a phone',
  description: 'The code changes often: request it again after expires_at. Pairing ends when the phone has scanned it.',
  params,
  status: 200,
  reply: Ok({ connection_status: Status, ...Pairing }),
  codes: { conflict: ['not_pairing'] },
  errors: { ...errors, conflict: 'The channel is not being paired now' },
})

export const connectChannel = contract({
  ...common,
  id: 'connectMsgappChannel',
  client: 'channels.connect',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/:channel_uuid/connect',
  summary: 'Connect a channel that is disconnected or has failed; no-op for a connected one',
  description:
    'Connecting happens in the background. Follow it with getMsgappChannelStatus or the event msgapp.number.status.',
  params,
  status: 200,
  reply: Ok({ channel: Channel }),
  errors,
})

export const disconnectChannel = contract({
  ...common,
  id: 'disconnectMsgappChannel',
  client: 'channels.disconnect',
  needs: 'numbers',
  method: 'POST',
  url: '/open/msgapp/channel/:channel_uuid/disconnect',
  summary: 'Disconnect a channel until it is connected again; messages sent meanwhile wait',
  description: 'Connect it again with connectMsgappChannel.',
  params,
  status: 200,
  reply: Ok({ channel: Channel }),
  errors,
})

export const deleteChannel = contract({
  ...common,
  id: 'deleteMsgappChannel',
  client: 'channels.delete',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/msgapp/channel/:channel_uuid',
  summary: 'Delete a channel: the number leaves the messaging app and is logged out there',
  description: 'Put the number on the messaging app again with createMsgappChannel.',
  params,
  status: 200,
  reply: Success,
  errors,
})
