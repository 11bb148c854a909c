import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Id } from '../../../platform/http/schema.ts'
import { TimelineReply } from '../../timelines/contract.ts'

export const getMessageTimeline = contract({
  auth: 'account',
  needs: 'read_only',
  shape: 'full',
  tag: 'Messaging app: messages',
  id: 'getMessageTimeline',
  client: 'msgapp.timeline',
  method: 'GET',
  url: '/open/msgapp/message/:session_key/:message_uuid/timeline',
  summary: 'Timeline of a message of the messaging app: sending, receipts, webhooks; its outcome and the next step',
  description: 'Use it to find out why a message failed and what to do. The text is absent.',
  params: Type.Object({
    session_key: Type.String({
      pattern: '^WW-WPN',
      maxLength: 300,
      description: 'WW-<channel_uuid>-<digits>@c.us, or …-<group>@g.us',
      examples: ['WW-WPN01a1fcca-93ab-7cbc-9f10-be702f775479-447700900123@c.us'],
    }),
    message_uuid: Id('MSG'),
  }),
  status: 200,
  reply: TimelineReply,
  errors: { notFound: 'No such message of the account' },
})
