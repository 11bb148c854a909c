import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Named, Ok, Time } from '../../platform/http/schema.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })

export const listRequests = contract({
  auth: 'account',
  needs: 'develop',
  shape: 'full',
  tag: 'Requests',
  id: 'listRequests',
  csv: 'requests',
  client: 'requests.list',
  method: 'GET',
  url: '/open/requests',
  summary: 'Requests that were made with API keys of the account, newest first',
  description:
    'Refused requests, and a sample of the others: the first 60, then 12 a minute. Refusals beyond 1,000 are kept at one a second. ' +
    'Stored for 7 days. 10,000 requests are examined at a time: a short page may have a next_cursor.',
  query: Type.Object({
    method: Type.Optional(Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])),
    route: Type.Optional(
      Type.String({ maxLength: 200, description: 'As in the reply', examples: ['/open/sms/:channel_uuid/messages'] }),
    ),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
    outcome: Type.Optional(Enum(['succeeded', 'refused'], { description: 'refused: status 400 and above' })),
    error_code: Type.Optional(Type.String({ maxLength: 100, examples: ['scope_missing'] })),
    request_id: Type.Optional(Type.String({ maxLength: 100 })),
    key_last_four: Type.Optional(Type.String({ maxLength: 4, description: 'Last four characters of the key' })),
    since: Type.Optional(Moment('Only requests from this time on')),
    until: Type.Optional(Moment('Only requests before this time')),
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Requests in this page' }),
    requests: Type.Array(
      Named(
        'ApiRequest',
        Type.Object({
          request_id: Type.String({ description: 'The x-request-id header', examples: ['req_Zk3x9Qa1b'] }),
          at: Type.Unsafe<string>({
            ...Time,
            description: 'By the clock of the machine; the sandbox’s clock does not move it',
          }),
          method: Type.String({ examples: ['POST'] }),
          route: Type.String({
            description: 'Without the values of its parameters, and without the query',
            examples: ['/open/sms/:channel_uuid/messages'],
          }),
          status: Type.Integer(),
          error_code: Type.Optional(Type.String({ description: 'Only of refused requests' })),
          key_last_four: Type.String({ description: 'Last four characters of the key' }),
          ms: Type.Integer({ description: 'Milliseconds from the headers to the response' }),
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Absent on the last page' })),
  }),
  errors: {},
})
