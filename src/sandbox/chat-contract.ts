import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Id, Ok, Phone } from '../http/schema.ts'

const inTheApp = {
  auth: 'account',
  shape: 'full',
  tag: 'Sandbox',
  method: 'POST',
  params: Type.Object({ number: Phone('A handset: any number that is not on the platform') }),
  status: 202,
  waits: true,
} as const
const Group = Id('WAG', 'A group of the account that whoever writes is in')
const Message = Id('MSG', 'A message of the account that the handset has seen')

/** What is written; one of it at least. */
const Writing = {
  group_uuid: Type.Optional(Group),
  text: Type.Optional(Type.String({ maxLength: 65_536, examples: ['Hello back'] })),
  url: Type.Optional(Type.String({ maxLength: 2_000, description: 'A file; it is fetched at once, for the handset' })),
  pin: Type.Optional(Type.Object({ latitude: Type.Number(), longitude: Type.Number() })),
}

export const writeFromHandset = contract({
  ...inTheApp,
  id: 'writeFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/msgapp',
  summary: 'The handset writes on the messaging app, to a number or to a group',
  body: Type.Object({
    to: Type.Optional(Phone('A channel of the account')),
    ...Writing,
  }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such channel or group' },
})

export const readFromHandset = contract({
  ...inTheApp,
  id: 'readFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/read',
  summary: 'The handset opens what it got from a number: acknowledgement 3',
  body: Type.Object({ from: Phone('A channel of the account') }),
  reply: Ok({ read: Type.Integer({ description: 'How many messages' }) }),
  errors: { notFound: 'The account has no such channel' },
})

export const callFromHandsetInApp = contract({
  ...inTheApp,
  id: 'callFromHandsetInApp',
  needs: 'develop',
  url: '/sandbox/handsets/:number/msgapp-calls',
  summary: 'The handset calls a number on the messaging app',
  body: Type.Object({ to: Phone('A channel of the account'), video: Type.Optional(Type.Boolean()) }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such channel' },
})

export const editFromHandset = contract({
  ...inTheApp,
  id: 'editFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/edit',
  summary: 'The handset changes the text of a message that it wrote',
  body: Type.Object({ message_uuid: Message, text: Type.String({ minLength: 1, maxLength: 65_536 }) }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such message with the handset' },
})

export const reactFromHandset = contract({
  ...inTheApp,
  id: 'reactFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/reaction',
  summary: 'The handset reacts to a message, or takes its reaction back',
  body: Type.Object({
    message_uuid: Message,
    emoji: Type.String({ maxLength: 32, description: 'Empty: it takes its reaction back', examples: ['👍'] }),
  }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such message with the handset' },
})

export const leaveFromHandset = contract({
  ...inTheApp,
  id: 'leaveFromHandset',
  needs: 'develop',
  url: '/sandbox/handsets/:number/leave-group',
  summary: 'The handset leaves a group',
  body: Type.Object({ group_uuid: Group }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such group with the handset in it' },
})

/** The phone of a channel: its number, but not by this interface. */
const byPhone = { ...inTheApp, params: Type.Object({ channel_uuid: Id('WPN') }) } as const

export const pairChannel = contract({
  ...byPhone,
  id: 'pairChannel',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/pair',
  summary: 'The phone of a channel scans the code that connects it',
  reply: Ok({}),
  errors: { notFound: 'The account has no such channel, or it shows no code' },
})

export const writeFromPhone = contract({
  ...byPhone,
  id: 'writeFromPhone',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/msgapp',
  summary: 'Somebody writes on the phone of a channel, to a number or to a group: a message that is sent_by agent',
  body: Type.Object({ to: Type.Optional(Phone('Anybody on the messaging app')), ...Writing }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such channel or group in the sandbox, or to is not on the messaging app' },
})

export const callFromPhone = contract({
  ...byPhone,
  id: 'callFromPhone',
  needs: 'develop',
  url: '/sandbox/channels/:channel_uuid/msgapp-calls',
  summary: 'Somebody calls a number on the messaging app by the phone of a channel; it talks for a second',
  body: Type.Object({ to: Phone('Anybody on the messaging app'), video: Type.Optional(Type.Boolean()) }),
  reply: Ok({}),
  errors: { notFound: 'The account has no such channel in the sandbox, or to is not on the messaging app' },
})
