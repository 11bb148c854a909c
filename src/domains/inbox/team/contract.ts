import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'
import { inbox } from '../endpoint-fields.ts'

const State = Enum(['available', 'away'], { description: 'away: no calls ring, and nothing new is assigned by itself' })

export const setAvailability = contract({
  ...inbox,
  id: 'setAvailability',
  client: 'team.setAvailability',
  method: 'PUT',
  url: '/open/me/availability',
  summary: 'Set whether oneself takes calls and conversations',
  description:
    'A conversation of an absent user that opens again loses its assignee. Calls to the user do not ring. With a key, user_uuid says whose state it is.',
  body: Type.Object(
    {
      state: State,
      user_uuid: Type.Optional(Id('USR', 'Whose state, if not one’s own; a session needs team_settings for it')),
    },
    { examples: [{ state: 'away', user_uuid: 'USR01a1fcca-93ab-7cbc-9f10-be702f775479' }] },
  ),
  status: 200,
  reply: Ok({ user_uuid: Id('USR'), state: State, since: Time }),
  errors: {
    forbidden: 'It is the state of another user, and the session lacks team_settings (role)',
    notFound: 'No such active user of the account',
    unprocessable: 'The request is of a key and names no user (user_required)',
  },
})

export const showTeam = contract({
  ...inbox,
  id: 'showTeam',
  client: 'team.show',
  method: 'GET',
  url: '/open/team',
  summary: 'Who is there, who is in a call, and how many conversations wait',
  description: 'Numbers come from counters, so the answer is fast at any size. Today begins at 00:00 UTC.',
  status: 200,
  reply: Ok({
    members: Type.Array(
      Named(
        'TeamMember',
        Type.Object({
          user_uuid: Id('USR'),
          name: Type.String({ examples: ['Ada Lovelace'] }),
          availability: State,
          since: Type.Optional(Type.Unsafe<string>({ ...Time, description: 'Since when; absent if never set' })),
          call_uuid: Type.Optional(Id('CDR', 'The call that the user is in')),
          open: Type.Integer({ description: 'Open conversations assigned to the user' }),
          waiting: Type.Integer({ description: 'Those of them in which the last word is the customer’s' }),
        }),
      ),
    ),
    waiting: Type.Object({
      n: Type.Integer({ description: 'Open conversations that wait for an answer' }),
      longest_seconds: Type.Integer(),
    }),
    today: Type.Object({
      closed: Type.Integer(),
      first_reply_p50_seconds: Type.Optional(
        Type.Integer({ description: 'Median, over conversations first answered today; absent if there are none' }),
      ),
    }),
  }),
  errors: {},
})
