import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, FreeText, Id, Named, Ok, Success } from '../../../platform/http/schema.ts'
import { inbox } from '../endpoint-fields.ts'
import { maxOwnViews, maxSharedViews } from '../limits.ts'

const pages = ['inbox', 'contacts', 'calls', 'numbers', 'messages', 'events', 'webhooks', 'usage'] as const

const Query = Type.Record(Type.String({ maxLength: 40 }), Type.String({ maxLength: 500 }), {
  maxProperties: 30,
  description: 'The filters of the page, as in its address',
  examples: [{ status: 'open', assignee: 'me' }],
})

const SavedView = Named(
  'SavedView',
  Type.Object({
    uuid: Id('VIW'),
    name: Type.String({ examples: ['Parcels'] }),
    page: Enum([...pages]),
    query: Query,
    shared: Type.Boolean({ description: 'False: only its author sees it' }),
  }),
)
const Name = FreeText(60)
const Shared = Type.Boolean({ description: 'For everybody; needs team_settings. Default: false' })
const oneView = { params: Type.Object({ view_uuid: Id('VIW') }) }
const unknown = 'No such view that you may see'
const notYours = 'The view is shared, and the key or session lacks team_settings (scope_missing, role)'

export const listViews = contract({
  ...inbox,
  id: 'listViews',
  client: 'views.list',
  method: 'GET',
  url: '/open/views',
  summary: 'List saved views in their order: the shared ones, then one’s own',
  description: `At most ${maxSharedViews} shared and ${maxOwnViews} own ones.`,
  query: Type.Object({ page: Type.Optional(Enum([...pages], { description: 'Only views of this page' })) }),
  status: 200,
  reply: Ok({ views: Type.Array(SavedView) }),
  errors: {},
})

export const createView = contract({
  ...inbox,
  id: 'createView',
  client: 'views.create',
  method: 'POST',
  url: '/open/views',
  summary: 'Save the filters of a page under a name',
  description: 'The view becomes the last one.',
  body: Type.Object(
    { name: Name, page: Enum([...pages]), query: Query, shared: Type.Optional(Shared) },
    { examples: [{ name: 'My open ones', page: 'inbox', query: { status: 'open', assignee: 'me' } }] },
  ),
  status: 201,
  reply: Ok({ view: SavedView }),
  errors: {
    forbidden: notYours,
    conflict: 'There are too many views (too_many_views), or the Idempotency-Key was used with another body',
    unprocessable: 'The query of the page inbox has no such filter or value (bad_filter)',
  },
})

export const changeView = contract({
  ...inbox,
  ...oneView,
  id: 'changeView',
  client: 'views.update',
  method: 'PATCH',
  url: '/open/views/:view_uuid',
  summary: 'Change a saved view',
  description: 'Everybody changes their own ones; shared ones need team_settings.',
  body: Type.Object(
    {
      name: Type.Optional(Name),
      page: Type.Optional(Enum([...pages])),
      query: Type.Optional(Query),
      shared: Type.Optional(Shared),
    },
    { examples: [{ name: 'My open ones' }] },
  ),
  status: 200,
  reply: Ok({ view: SavedView }),
  errors: {
    forbidden: notYours,
    notFound: unknown,
    unprocessable: 'The query of the page inbox has no such filter or value (bad_filter)',
  },
})

export const deleteView = contract({
  ...inbox,
  ...oneView,
  id: 'deleteView',
  client: 'views.delete',
  method: 'DELETE',
  url: '/open/views/:view_uuid',
  summary: 'Delete a saved view',
  description: 'Everybody deletes their own ones; shared ones need team_settings.',
  status: 200,
  reply: Success,
  errors: { forbidden: notYours, notFound: unknown },
})

export const orderViews = contract({
  ...inbox,
  id: 'orderViews',
  client: 'views.order',
  method: 'PUT',
  url: '/open/views/order',
  summary: 'Put saved views into an order',
  description: 'Views that are not named follow. To move shared ones needs team_settings.',
  body: Type.Object({
    uuids: Type.Array(Id('VIW'), {
      minItems: 1,
      maxItems: maxSharedViews + maxOwnViews,
      description: 'In the new order',
    }),
  }),
  status: 200,
  reply: Ok({ views: Type.Array(SavedView) }),
  errors: { forbidden: notYours, notFound: unknown },
})
