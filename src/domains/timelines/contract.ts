import { type TProperties, Type } from 'typebox'
import { Enum, Named, Ok, Time } from '../../platform/http/schema.ts'

// Schemas that every timeline shares. The endpoints belong to the domains of their subjects.

/** Facts of a timeline. `program_request`, `program_verb`: steps of the program of a call. `delivered_to_webhook`: an attempt to deliver an event, successful or not. */
export const facts = [
  'accepted',
  'charged',
  'scheduled',
  'routed',
  'submitted',
  'retried',
  'refused',
  'receipt',
  'received',
  'read',
  'edited',
  'deleted',
  'canceled',
  'failed',
  'refunded',
  'bought',
  'renewed',
  'registration',
  'suspended',
  'released',
  'recorded',
  'delivered_to_webhook',
  'sip_in',
  'sip_out',
  'media',
  'program_request',
  'program_verb',
  'note',
] as const

export type Fact = (typeof facts)[number]

/** What helps next. A client maps each kind to its own page or act. */
export const nextSteps = [
  'none',
  'wait',
  'check_number',
  'change_text',
  'send_again',
  'call_again',
  'top_up',
  'ask_consent',
  'provide_documents',
  'buy_number',
  'check_device',
  'unblock',
  'check_webhook',
  'connect_channel',
  'check_program',
  'ask_operator',
] as const

export type NextStepKind = (typeof nextSteps)[number]

const Detail = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
  description: 'Data of the entry, such as part, error_code, amount, event_uuid, delivery_id or response_status',
})

export const TimelineEntry = Named(
  'TimelineEntry',
  Type.Object({
    at: Time,
    after_ms: Type.Integer({ minimum: 0, description: 'Milliseconds since the entry before; 0 for the first' }),
    what: Enum([...facts]),
    text: Type.String({ examples: ['The carrier accepted part 1'] }),
    leg: Type.Optional(Enum(['caller', 'callee'], { description: 'Calls: the side' })),
    detail: Type.Optional(Detail),
  }),
)

const Outcome = Named(
  'TimelineOutcome',
  Type.Object({
    state: Enum(['succeeded', 'in_progress', 'failed']),
    error_code: Type.Optional(Type.String({ examples: ['ESME_RINVDSTADR'] })),
    text: Type.String({
      description: 'How it ended and why, in words',
      examples: ['The carrier does not know the number of the recipient'],
    }),
  }),
)

const NextStep = Named(
  'TimelineNextStep',
  Type.Object({
    kind: Enum([...nextSteps], { description: 'none: nothing to do' }),
    text: Type.String({ examples: ['Check the number of the recipient, then send again.'] }),
    target_uuid: Type.Optional(
      Type.String({ description: 'The thing that the step concerns, such as a webhook or a number of the account' }),
    ),
  }),
)

/** Fields of each reply with a timeline. */
export const timelineFields = {
  timeline: Type.Array(TimelineEntry, { description: 'Stored facts, oldest first' }),
  outcome: Outcome,
  next_step: NextStep,
} satisfies TProperties

export const TimelineReply = Named('Timeline', Ok(timelineFields))
