import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Id, Ok, Phone, Success } from '../../../platform/http/schema.ts'

const inTheApp = {
  auth: 'account',
  shape: 'full',
  tag: 'Sandbox',
  method: 'POST',
  params: Type.Object({ number: Phone('A handset: any number that is not on the platform') }),
  status: 202,
  waits: true,
} as const
const Group = Id('WAG', 'A group of the account that the writer is in')
const Message = Id('MSG', 'A message of the account that the handset has seen')

/** Content of a message; at least one property. */
const Writing = {
  group_uuid: Type.Optional(Group),
  text: Type.Optional(Type.String({ maxLength: 65_536, examples: ['Hello back'] })),
  url: Type.Optional(
    Type.String({ maxLength: 2_000, description: 'URL of a file, which is fetched at once for the handset' }),
  ),
  pin: Type.Optional(Type.Object({ latitude: Type.Number(), longitude: Type.Number() })),
}

export const writeFromHandset = contract({
  ...inTheApp,
  id: 'writeFromHandset',
  client: 'handsets.sendMessage',
  needs: 'develop',
  url: '/sandbox/handsets/:number/msgapp',
  summary: 'The handset writes on the messaging app, to a number or to a group',
  description: 'The event is msgapp.message.received, or msgapp.group.message.received in a group.',
  body: Type.Object(
    {
      to: Type.Optional(Phone('A channel of the account')),
      ...Writing,
    },
    { examples: [{ to: '+447700900001', text: 'Hello back' }] },
  ),
  reply: Success,
  codes: { invalid: ['not_a_handset', 'url_refused'] },
  errors: { notFound: 'The account has no such channel or group' },
})

export const readFromHandset = contract({
  ...inTheApp,
  id: 'readFromHandset',
  client: 'handsets.readMessages',
  needs: 'develop',
  url: '/sandbox/handsets/:number/read',
  summary: 'The handset opens its messages from a number: acknowledgement 3',
  description: 'The event is msgapp.message.receipt.read for each message that becomes read.',
  body: Type.Object({ from: Phone('A channel of the account') }),
  reply: Ok({ read: Type.Integer({ description: 'How many messages' }) }),
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such channel' },
})

export const callFromHandsetInApp = contract({
  ...inTheApp,
  id: 'callFromHandsetInApp',
  client: 'handsets.callInApp',
  needs: 'develop',
  url: '/sandbox/handsets/:number/msgapp-calls',
  summary: 'The handset calls a number on the messaging app',
  description: 'The event is msgapp.call.received.',
  body: Type.Object({ to: Phone('A channel of the account'), video: Type.Optional(Type.Boolean()) }),
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such channel' },
})

export const editFromHandset = contract({
  ...inTheApp,
  id: 'editFromHandset',
  client: 'handsets.editMessage',
  needs: 'develop',
  url: '/sandbox/handsets/:number/edit',
  summary: 'The handset changes the text of a message that it wrote',
  description: 'The event is msgapp.message.edited.',
  body: Type.Object({ message_uuid: Message, text: Type.String({ minLength: 1, maxLength: 65_536 }) }),
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such message with the handset' },
})

export const reactFromHandset = contract({
  ...inTheApp,
  id: 'reactFromHandset',
  client: 'handsets.react',
  needs: 'develop',
  url: '/sandbox/handsets/:number/reaction',
  summary: 'The handset reacts to a message, or removes its reaction',
  description: 'The event is msgapp.message.reaction. An empty emoji removes the reaction.',
  body: Type.Object({
    message_uuid: Message,
    emoji: Type.String({ maxLength: 32, description: 'Empty: removes the reaction', examples: ['👍'] }),
  }),
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such message with the handset' },
})

export const leaveFromHandset = contract({
  ...inTheApp,
  id: 'leaveFromHandset',
  client: 'handsets.leaveGroup',
  needs: 'develop',
  url: '/sandbox/handsets/:number/leave-group',
  summary: 'The handset leaves a group, or is removed from it',
  description: 'The event is msgapp.group.leave, or msgapp.group.remove with removed.',
  body: Type.Object({
    group_uuid: Group,
    removed: Type.Optional(
      Type.Boolean({
        description: 'true: an administrator of the group removes it. Default: false, it leaves by itself',
      }),
    ),
  }),
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such group with the handset in it' },
})

export const joinFromHandset = contract({
  ...inTheApp,
  id: 'joinFromHandset',
  client: 'handsets.joinGroup',
  needs: 'develop',
  url: '/sandbox/handsets/:number/join-group',
  summary: 'The handset joins a group by its invitation link',
  description: 'The event is msgapp.group.join.',
  body: Type.Object({ group_uuid: Id('WAG', 'A group of the account') }),
  reply: Success,
  codes: { invalid: ['not_a_handset'] },
  errors: { notFound: 'The account has no such group, or the handset is already in it or not on the messaging app' },
})

/** The phone of a channel: its number, used outside this interface. */
const byPhone = { ...inTheApp, params: Type.Object({ channel_uuid: Id('WPN') }) } as const

export const pairChannel = contract({
  ...byPhone,
  id: 'pairChannel',
  client: 'channels.pair',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/pair',
  summary: 'The phone of a channel scans the code that connects it',
  description: 'The channel connects as if a person had scanned its code. The event is msgapp.number.status.',
  reply: Success,
  errors: { notFound: 'The account has no such channel, or it shows no code' },
})

export const writeFromPhone = contract({
  ...byPhone,
  id: 'writeFromPhone',
  client: 'channels.sendMessage',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/msgapp',
  summary: 'The phone of a channel writes to a number or a group: a message with sent_by agent',
  description: 'Use it to test messages that a person sends outside the interface.',
  body: Type.Object(
    { to: Type.Optional(Phone('Any number on the messaging app')), ...Writing },
    { examples: [{ to: '+447700900123', text: 'Hello from the phone' }] },
  ),
  reply: Success,
  codes: { invalid: ['url_refused'] },
  errors: { notFound: 'The account has no such channel or group in the sandbox, or to is not on the messaging app' },
})

export const callFromPhone = contract({
  ...byPhone,
  id: 'callFromPhone',
  client: 'channels.call',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/msgapp-calls',
  summary: 'The phone of a channel calls a number on the messaging app and talks for a second',
  description: 'The event is msgapp.call.made.',
  body: Type.Object({ to: Phone('Any number on the messaging app'), video: Type.Optional(Type.Boolean()) }),
  reply: Success,
  errors: { notFound: 'The account has no such channel in the sandbox, or to is not on the messaging app' },
})
