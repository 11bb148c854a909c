import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'
import { inbox } from '../endpoint-fields.ts'
import { maxBulkConversations, maxBulkIds, undoSeconds } from '../limits.ts'
import { conversationFilters, Status } from '../schemas.ts'

const Tags = Type.Array(Id('TAG'), { maxItems: 20 })

const Change = Type.Object(
  {
    status: Type.Optional(Status),
    assignee_uuid: Type.Optional(Type.Union([Id('USR'), Type.Null()], { description: 'null: no assignee' })),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
    snoozed_until: Type.Optional(Type.Union([{ ...Time, maxLength: 40 }, Type.Null()])),
    snoozed_till_reply: Type.Optional(Type.Boolean()),
    add_tags: Type.Optional(Tags),
    remove_tags: Type.Optional(Tags),
  },
  { examples: [{ status: 'closed' }] },
)

const BulkChange = Named(
  'BulkChange',
  Type.Object({
    job_uuid: Id('JOB'),
    state: Enum(['running', 'completed', 'failed', 'undone'], {
      description: 'failed: it was given up before its end',
    }),
    total: Type.Integer({ description: 'Conversations found so far; final once state is not running' }),
    done: Type.Integer({ description: 'Conversations that were examined' }),
    changed: Type.Integer({ description: 'Those of them that the change concerned' }),
    undo_of: Type.Optional(Id('JOB', 'The change that this one undoes')),
    undo_until: Type.Optional(Time),
    created_at: Time,
  }),
)
const oneJob = { params: Type.Object({ job_uuid: Id('JOB') }) }
const unknown = 'No such bulk change of the account'

export const changeConversations = contract({
  ...inbox,
  id: 'changeConversations',
  client: 'conversations.bulk',
  method: 'POST',
  url: '/open/conversations/bulk',
  summary: 'Change many conversations: close, assign, snooze, tag',
  description:
    `Names conversations by uuids, or by the filters of the list, at most ${maxBulkConversations}. ` +
    `The work goes on after the reply; its progress is published as conversation.bulk. It can be undone for ${undoSeconds / 60} minutes.`,
  body: Type.Object(
    {
      uuids: Type.Optional(
        Type.Array(Id('CNV'), { minItems: 1, maxItems: maxBulkIds, description: 'Either these, or query' }),
      ),
      query: Type.Optional(
        Type.Object(conversationFilters, {
          description: 'All that match, as in GET /open/conversations. Unknown filters are refused',
        }),
      ),
      change: Change,
    },
    { examples: [{ query: { status: 'open', waiting: false }, change: { status: 'closed' } }] },
  ),
  status: 202,
  reply: Ok({ job_uuid: Id('JOB') }),
  codes: { invalid: ['conversations_required', 'change_required', 'snooze_in_the_past', 'snooze_without_end'] },
  errors: {
    notFound: 'A conversation, user, tag, channel or contact does not exist or is not the account’s',
    unprocessable: 'The assignee is not an active user with the capability inbox (assignee_not_active)',
  },
})

export const showBulkChange = contract({
  ...inbox,
  ...oneJob,
  id: 'showBulkChange',
  client: 'conversations.showBulk',
  method: 'GET',
  url: '/open/conversations/bulk/:job_uuid',
  summary: 'The progress of a bulk change',
  description: 'Bulk changes are shown for a day.',
  status: 200,
  reply: Ok({ job: BulkChange }),
  errors: { notFound: unknown },
})

export const undoBulkChange = contract({
  ...inbox,
  ...oneJob,
  id: 'undoBulkChange',
  client: 'conversations.undoBulk',
  method: 'POST',
  url: '/open/conversations/bulk/:job_uuid/undo',
  summary: 'Undo a bulk change',
  description:
    'Each field gets its previous value where nobody changed it since. A change that is still running stops first.',
  status: 202,
  reply: Ok({ job_uuid: Id('JOB', 'The job that undoes it') }),
  errors: {
    notFound: unknown,
    conflict: 'It was undone already, is an undoing itself, or the time for it is over (not_undoable)',
  },
})
