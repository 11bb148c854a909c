import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paths, setLinkAccount } from '../../console/paths.ts'

// The addresses of the console: people have them in their bookmarks, so a change is made on purpose.

const addresses = {
  home: '/console',
  phone: '/console/phone',
  signIn: '/console/sign-in',
  claim: '/console/claim',
  invitation: '/console/invitation',
  forgotten: '/console/forgotten',
  emailProof: '/console/email-proof',
  profile: '/console/you',
  sessions: '/console/you/sessions',
  inbox: '/console/:account/inbox/:view?/:conversation?',
  inboxTags: '/console/:account/settings/tags',
  cannedReplies: '/console/:account/settings/replies',
  inboxViews: '/console/:account/settings/views',
  numbers: '/console/:account/numbers',
  shop: '/console/:account/numbers/shop/:country?/:group?',
  callerIds: '/console/:account/numbers/caller-ids',
  number: '/console/:account/numbers/:number',
  contacts: '/console/:account/contacts',
  duplicates: '/console/:account/contacts/duplicates',
  importContacts: '/console/:account/contacts/import',
  optOuts: '/console/:account/contacts/opt-outs',
  contact: '/console/:account/contacts/:contact',
  start: '/console/:account/start',
  logs: '/console/:account/logs',
  calls: '/console/:account/calls',
  applications: '/console/:account/calls/applications',
  application: '/console/:account/calls/applications/:application',
  sendings: '/console/:account/logs/sendings',
  sending: '/console/:account/logs/sendings/:sending',
  message: '/console/:account/logs/messages/:message',
  call: '/console/:account/calls/:call',
  money: '/console/:account/money',
  holds: '/console/:account/money/holds',
  usage: '/console/:account/money/usage',
  notifications: '/console/you/notifications',
  security: '/console/you/security',
  telephone: '/console/you/telephone',
  developers: '/console/:account/developers',
  keys: '/console/:account/developers/keys',
  webhooks: '/console/:account/developers/webhooks',
  webhook: '/console/:account/developers/webhooks/:webhook',
  delivery: '/console/:account/developers/webhooks/:webhook/:delivery',
  listen: '/console/:account/developers/listen',
  events: '/console/:account/developers/events',
  event: '/console/:account/developers/events/:event',
  eventTypes: '/console/:account/developers/event-types',
  requests: '/console/:account/developers/requests',
  channels: '/console/:account/channels',
  channel: '/console/:account/channels/:channel',
  people: '/console/:account/people',
  settings: '/console/:account/settings',
  audit: '/console/:account/settings/audit',
}

test('addresses of pages do not change', () => {
  const patterns = Object.entries(paths).map(([name, { pattern }]) => [name, pattern])
  assert.deepEqual(Object.fromEntries(patterns), addresses)
})

test('a link contains the account of the page, its parameters and its search', () => {
  setLinkAccount('ACC1')
  assert.equal(paths.keys(), '/console/ACC1/developers/keys')
  assert.equal(paths.keys({ account: 'ACC2' }, { create: '1' }), '/console/ACC2/developers/keys?create=1')
  assert.equal(paths.signIn({}, { to: '/console/x?y=1&z' }), '/console/sign-in?to=%2Fconsole%2Fx%3Fy%3D1%26z')
  assert.equal(paths.keys({}, { create: undefined }), '/console/ACC1/developers/keys')
})
