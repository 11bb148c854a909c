import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Id, Named, Ok, Success, Time } from '../../platform/http/schema.ts'
import { maxEndpointLength } from './limits.ts'

const push = { auth: 'account', needs: 'inbox', shape: 'full', tag: 'Notifications' } as const

const noPerson = 'The request has a key, which has no person (no_person)'
const params = Type.Object({ push_subscription_uuid: Id('PSH') })
const unknown = 'You have no such push subscription'

const PushSubscription = Named(
  'PushSubscription',
  Type.Object({
    uuid: Id('PSH'),
    user_agent: Type.String({ description: 'Browser that subscribed' }),
    created_at: Time,
    delivered_at: Type.Optional({ ...Time, description: 'Last message that the push service accepted' }),
    failed_at: Type.Optional({ ...Time, description: 'Last failure, if it is newer than the last delivery' }),
    failure: Type.Optional(Type.String({ examples: ['the push service replied 413'] })),
  }),
)

const Key = (bytes: number, description: string) =>
  Confidential(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+=*$',
      maxLength: 120,
      description: `${description}: ${bytes} bytes, base64url (RFC 8291)`,
    }),
  )

export const listPushSubscriptions = contract({
  ...push,
  id: 'listPushSubscriptions',
  client: 'me.pushSubscriptions',
  method: 'GET',
  url: '/open/me/push-subscriptions',
  summary: 'Browsers in which you get notifications, and the key to subscribe with',
  description: 'At most 20, the newest first. public_key is the applicationServerKey of the installation (RFC 8292).',
  status: 200,
  reply: Ok({
    public_key: Type.String({ description: 'Uncompressed point of P-256, base64url' }),
    subscriptions: Type.Array(PushSubscription),
  }),
  errors: { conflict: noPerson },
})

export const createPushSubscription = contract({
  ...push,
  id: 'createPushSubscription',
  client: 'me.subscribe',
  method: 'POST',
  url: '/open/me/push-subscriptions',
  summary: 'Subscribe a browser to your notifications',
  description:
    'The body is the result of PushManager.subscribe in the browser. Its address is checked as those of webhooks are. ' +
    'The same browser replaces its subscription. It ends when its session is signed out or expires.',
  body: Type.Object({
    endpoint: Confidential(
      Type.String({ maxLength: maxEndpointLength, description: 'Address at the push service, a secret' }),
    ),
    keys: Type.Object({ p256dh: Key(65, 'Public key of the browser'), auth: Key(16, 'Authentication secret') }),
  }),
  status: 201,
  reply: Ok({ subscription: PushSubscription }),
  codes: { invalid: ['endpoint_refused', 'invalid_push_keys'] },
  errors: { conflict: noPerson },
})

export const deletePushSubscription = contract({
  ...push,
  id: 'deletePushSubscription',
  client: 'me.unsubscribe',
  method: 'DELETE',
  url: '/open/me/push-subscriptions/:push_subscription_uuid',
  summary: 'End the notifications in a browser',
  description: 'Messages on their way are not sent any more.',
  params,
  status: 200,
  reply: Success,
  errors: { notFound: unknown, conflict: noPerson },
})

export const testPushSubscription = contract({
  ...push,
  id: 'testPushSubscription',
  client: 'me.testPushSubscription',
  method: 'POST',
  url: '/open/me/push-subscriptions/:push_subscription_uuid/test',
  summary: 'Send a test notification to a browser',
  description: 'It comes within seconds, also in quiet hours. A failure is shown in the list.',
  params,
  status: 202,
  reply: Success,
  errors: { notFound: unknown, conflict: noPerson },
})
