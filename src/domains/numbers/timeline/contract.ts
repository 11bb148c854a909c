import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Id } from '../../../platform/http/schema.ts'
import { TimelineReply } from '../../timelines/contract.ts'

export const getNumberTimeline = contract({
  auth: 'account',
  needs: 'read_only',
  shape: 'full',
  tag: 'Numbers',
  id: 'getNumberTimeline',
  client: 'numbers.timeline',
  method: 'GET',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid/timeline',
  summary: 'Timeline of a number: purchase, registration, renewals, suspensions, webhooks; its state and the next step',
  description: 'Use it to find out why a number is suspended and what to do. Released numbers have a timeline too.',
  params: Type.Object({ virtual_number_uuid: Id('DID') }),
  status: 200,
  reply: TimelineReply,
  errors: { notFound: 'No such number of the account' },
})
