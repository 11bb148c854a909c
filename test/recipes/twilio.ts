import { uuid } from '../../src/platform/lib/id.ts'
import { parseSid, printSid } from '../../src/platform/lib/sid.ts'
import type { Recipes, Request } from './recipe.ts'
import { group, type Scene, unique } from './scene.ts'

// The interface in the shape of Twilio. `send` turns it on for the account of the request.

const contact = '+447700900123'

const accountOf = ({ tenant }: Scene) => ({ AccountSid: printSid('AC', tenant.id) })

const account = async (scene: Scene): Promise<Request> => ({ params: accountOf(scene) })

/** Paths with a message that is no longer under way. */
const withMessage = async (scene: Scene, status = 'delivered') => {
  const { uuid } = await scene.message()
  const id = uuid.slice(3)
  await scene.world.db.run`
    update sms_messages set status = ${status} where account_id = ${scene.tenant.id} and id = ${id}`
  return { ...accountOf(scene), Sid: printSid('SM', id) }
}

/** Paths with a file of a message. */
const withFile = async (scene: Scene) => {
  const params = await withMessage(scene)
  const file = uuid()
  const { db } = scene.world
  await db.run`
    insert into msgapp_media (account_id, id, channel_id, type, mime_type, name, error, created_at)
    values (${scene.tenant.id}, ${file}, ${file}, 'image', 'image/jpeg', '', 'gone', now())`
  await db.run`
    update sms_messages set media_ids = array[${file}::uuid]
    where account_id = ${scene.tenant.id} and id = ${parseSid('SM', params.Sid)}`
  return { ...params, MediaSid: printSid('ME', file) }
}

const withNumber = async (scene: Scene) => ({
  ...accountOf(scene),
  Sid: printSid('PN', (await scene.number()).uuid.slice(3)),
})

const country = async (scene: Scene): Promise<Request> => ({ params: { ...accountOf(scene), CountryCode: 'GB' } })

const freeNumber = async ({ world }: Scene): Promise<string> =>
  (
    await world.db.one<{ number: string }>`
      select number from numbers where group_id = ${group.id} and state = 'free' order by random() limit 1`
  ).number

const unknownSid = (prefix: 'SM' | 'PN') => (scene: Scene) => ({
  params: { ...accountOf(scene), Sid: `${prefix}${'0'.repeat(32)}` },
})

/** Label of the keys whose tokens a request is to revoke. */
const spare = 'spare token'

export const twilioRecipes: Recipes = {
  createCompatCredentials: {
    ok: async ({ world, tenant }) => {
      // Two are allowed, and each request makes one. A spare one stays for the request that revokes it.
      await world.db.run`
        delete from twilio_tokens t using api_keys k
        where t.account_id = ${tenant.id} and k.account_id = t.account_id and k.id = t.key_id and k.label <> ${spare}`
      return {}
    },
    conflict: async ({ world, tenant }) => {
      for (let n = 0; n < 2; n++) await world.call(tenant, 'POST', '/open/compat/credentials', {})
      return {}
    },
  },
  listCompatCredentials: { ok: () => ({}) },
  revokeCompatCredentials: {
    ok: async ({ world, tenant }) => {
      await world.db.run`delete from twilio_tokens where account_id = ${tenant.id}`
      const { body } = await world.call(tenant, 'POST', '/open/compat/credentials', {})
      await world.db.run`
        update api_keys set label = ${spare} where account_id = ${tenant.id} and id = ${String(body.key_uuid).slice(3)}`
      return { params: { key_uuid: body.key_uuid } }
    },
    conflict: async ({ world, tenant }) => {
      // The key of the request is a token.
      const [row] = await world.db.many<{ id: string }>`
        select id from api_keys where account_id = ${tenant.id} and revoked_at is null order by created_at limit 1`
      await world.db.run`
        insert into twilio_tokens (account_id, key_id, sealed_token) values (${tenant.id}, ${row?.id ?? ''}, '\\x00')
        on conflict do nothing`
      return { params: { key_uuid: `KEY${row?.id}` } }
    },
  },
  twilioFetchAccount: { ok: account },
  twilioFetchBalance: { ok: account },
  twilioCreateMessage: {
    ok: async (scene) => ({
      params: accountOf(scene),
      body: { To: contact, From: (await scene.number()).number, Body: unique(scene.mark) },
    }),
    invalid: async (scene) => ({ params: accountOf(scene), body: { From: contact, Body: 'x' } }),
  },
  twilioListMessages: {
    ok: async (scene) => {
      await scene.message()
      return { params: accountOf(scene), query: { PageSize: 2 } }
    },
  },
  twilioFetchMessage: { ok: async (scene) => ({ params: await withMessage(scene) }), notFound: unknownSid('SM') },
  twilioUpdateMessage: {
    ok: async (scene) => ({ params: await withMessage(scene), body: { Body: '' } }),
    notFound: unknownSid('SM'),
    conflict: async (scene) => ({ params: await withMessage(scene, 'sending'), body: { Body: '' } }),
  },
  twilioDeleteMessage: {
    ok: async (scene) => ({ params: await withMessage(scene) }),
    notFound: unknownSid('SM'),
    conflict: async (scene) => ({ params: await withMessage(scene, 'sending') }),
  },
  twilioListMedia: { ok: async (scene) => ({ params: await withMessage(scene) }), notFound: unknownSid('SM') },
  twilioFetchMedia: {
    ok: async (scene) => ({ params: await withFile(scene) }),
    notFound: async (scene) => ({ params: { ...(await withMessage(scene)), MediaSid: `ME${'0'.repeat(32)}` } }),
  },
  twilioListIncomingPhoneNumbers: {
    ok: async (scene) => {
      await scene.number()
      return { params: accountOf(scene), query: { PageSize: 2 } }
    },
  },
  twilioCreateIncomingPhoneNumber: {
    ok: async (scene) => ({ params: accountOf(scene), body: { PhoneNumber: await freeNumber(scene) } }),
    invalid: async (scene) => ({ params: accountOf(scene), body: {} }),
  },
  twilioFetchIncomingPhoneNumber: {
    ok: async (scene) => ({ params: await withNumber(scene) }),
    notFound: unknownSid('PN'),
  },
  twilioUpdateIncomingPhoneNumber: {
    ok: async (scene) => ({ params: await withNumber(scene), body: { FriendlyName: unique(scene.mark) } }),
    notFound: unknownSid('PN'),
  },
  twilioDeleteIncomingPhoneNumber: {
    ok: async (scene) => ({ params: await withNumber(scene) }),
    notFound: unknownSid('PN'),
  },
  twilioListAvailablePhoneNumberCountries: { ok: account },
  twilioFetchAvailablePhoneNumberCountry: { ok: country },
  twilioSearchLocalNumbers: { ok: country },
  twilioSearchMobileNumbers: { ok: country },
  twilioSearchTollFreeNumbers: { ok: country },
  twilioSearchNationalNumbers: { ok: country },
  twilioLookUpV1: {
    ok: () => ({ params: { PhoneNumber: contact } }),
    notFound: () => ({ params: { PhoneNumber: '1' } }),
  },
  twilioLookUpV2: { ok: () => ({ params: { PhoneNumber: contact } }) },
}
