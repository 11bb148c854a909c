import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { TimelineReply } from '../../timelines/contract.ts'

export const getSmsTimeline = contract({
  auth: 'account',
  needs: 'read_only',
  shape: 'full',
  tag: 'SMS',
  id: 'getSmsTimeline',
  client: 'sms.timeline',
  method: 'GET',
  url: '/open/sms/message/:message_uuid/timeline',
  summary: 'Timeline of an SMS: charge, submits, receipts, webhooks; its outcome and the next step',
  description:
    'Use it to find out why a message failed and what to do. Carriers are not named, and the text is absent.',
  params: Type.Object({
    message_uuid: Type.String({ pattern: '^SM[IO]', maxLength: 64, description: 'SMI… or SMO…' }),
  }),
  status: 200,
  reply: TimelineReply,
  errors: { notFound: 'No such message of the account' },
})
