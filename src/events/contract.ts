import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Ok } from '../http/schema.ts'
import { type EventName, eventNames } from './names.ts'

const EventNames = Enum<EventName[]>([...eventNames], { examples: ['msgapp.message.received'] })

export const triggerEvent = contract({
  id: 'triggerEvent',
  needs: 'develop',
  auth: 'account',
  shape: 'full',
  tag: 'Sandbox',
  method: 'POST',
  url: '/sandbox/events/:event_name',
  summary: 'Make an event happen, to try what listens for it',
  params: Type.Object({ event_name: EventNames }),
  status: 202,
  reply: Ok({
    event_name: EventNames,
    via: Enum(['handset', 'example'], {
      description:
        'handset: a handset sent a real SMS to a number of the account, and the event comes with it. example: the event was ' +
        'recorded with made-up data and test: true',
    }),
  }),
  errors: {},
  cli: 'trigger',
})
