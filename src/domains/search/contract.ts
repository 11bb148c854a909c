import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../platform/http/schema.ts'
import { searchKinds } from './kinds.ts'

export const search = contract({
  auth: 'account',
  needs: 'read_only',
  orNeeds: 'inbox',
  shape: 'full',
  tag: 'Search',
  id: 'search',
  showsTexts: true,
  client: 'search.find',
  method: 'GET',
  url: '/open/search',
  summary: 'Find conversations, messages, notes, contacts, numbers, calls and events by words, name, number or id',
  description:
    'A number may be written with +, with 00, or as dialled within the countries of the account’s numbers. ' +
    'Conversations, words of texts, notes and contacts need the scope inbox; the other kinds read_only. ' +
    'Contents of messages need inbox, and inbox.all where all messages are searched. The last word may be the beginning of one.',
  query: Type.Object({
    q: Type.String({
      minLength: 2,
      maxLength: 200,
      description:
        'Words, a name, a telephone number or its beginning, or an id such as CNV…, SMO…, DID…, CDR… or EVT…',
      examples: ['+447700900123'],
    }),
    in: Type.Optional(
      Type.String({
        pattern: `^(?:${searchKinds.join('|')})(?:,(?:${searchKinds.join('|')})){0,${searchKinds.length - 1}}$`,
        description: `Kinds to search, separated by commas: ${searchKinds.join(', ')}. Default: all`,
        examples: ['contacts,numbers'],
      }),
    ),
    results_per_page: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 50, description: 'Results of each kind. Default: 5' }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 1000,
        description:
          'next_cursor of the previous page of the same search: the next results of the kinds that have more',
      }),
    ),
  }),
  status: 200,
  reply: Ok({
    groups: Type.Array(
      Named(
        'SearchGroup',
        Type.Object({
          in: Enum([...searchKinds]),
          count: Type.Integer({ description: 'Results in this group' }),
          more: Type.Boolean({ description: 'There are more matches: the next page has them' }),
          results: Type.Array(
            Named(
              'SearchResult',
              Type.Object({
                uuid: Type.String({ examples: ['CON01a1fcca-93ab-7cbc-9f10-be702f775479'] }),
                title: Type.String({ examples: ['Ada Lovelace'] }),
                text: Type.String({ description: 'Second line; may be empty', examples: ['+447700900123'] }),
                at: Type.Optional(Time),
                href: Type.String({
                  description: 'Path of the result in this API',
                  examples: ['/open/contacts/CON01a1fcca-93ab-7cbc-9f10-be702f775479'],
                }),
                marks: Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
                  description: 'Matching ranges of the title: first UTF-16 unit, and the unit after the last',
                  examples: [[[0, 3]]],
                }),
                text_marks: Type.Optional(
                  Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
                    description: 'Matching ranges of the text, of results of the inbox',
                    examples: [[[0, 3]]],
                  }),
                ),
                conversation_uuid: Type.Optional(Id('CNV', 'The conversation of a result of the inbox')),
              }),
            ),
          ),
        }),
      ),
      { description: 'Only kinds with results' },
    ),
    next_cursor: Type.Optional(Type.String({ description: 'Absent when no kind has more' })),
  }),
  errors: {},
})
