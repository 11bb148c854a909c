import { beginCall, callAnswered, callEnded } from '../../src/domains/calls/ops.ts'
import { answerCommand, claimCommands } from '../../src/domains/calls/orders/command-store.ts'
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

/** Worlds in which calls can be made and commanded, as if a process ran them. */
const ready = new WeakSet<object>()

/** Answers the commands on calls of a world: a recording is the newest one of the call. */
const answerCommands = ({ world: { db } }: Scene): void => {
  const timer = setInterval(async () => {
    try {
      for (const { account_id: account, id, call_id: call } of await claimCommands(db, 1, 100)) {
        const row = await db.maybe<{ id: string }>`
          select id from call_recordings where account_id = ${account} and call_id = ${call} order by id desc limit 1`
        await answerCommand(db, account, id, { ok: true, stream: uuid(), ...(row ? { recording: row.id } : {}) })
      }
    } catch {
      // The world has ended.
      clearInterval(timer)
    }
  }, 50)
  timer.unref()
}

const runCalls = async (scene: Scene): Promise<void> => {
  const { world, tenant } = scene
  if (!ready.has(world)) {
    ready.add(world)
    await world.db.run`update voice_lease set holder = 'recipes'`
    const settings = { host: '127.0.0.1', port: 9 }
    await world.call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'recipes', settings })
    answerCommands(scene)
  }
  await world.db.run`update call_usage set attempts = 0, spent = 0 where account_id = ${tenant.id}`
}

/** A call in progress, or one that has ended, with a recording. */
const withCall = async (scene: Scene, { hasEnded = false, isRecorded = false } = {}) => {
  await runCalls(scene)
  const { world, tenant, mark } = scene
  const [id, recording] = [uuid(), uuid()]
  await world.db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: tenant.id, id, callid: `${mark} ${id}`, direction: 'I', user_id: null, from_number: contact },
      ...{ to_number: '+441632960000', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: contact, virtual_number_id: null, toll_free: false, rate: '0.01' },
    })
    await callAnswered(tx, tenant.id, id, null)
    await tx.run`
      insert into call_recordings (account_id, id, call_id, seconds, bytes, sha256, ready_at)
      values (${tenant.id}, ${recording}, ${id}, 1, 1, '', ${isRecorded ? new Date() : null})`
    if (hasEnded) await callEnded(tx, tenant.id, id, { status: 'COMPLETED', reason: '200' })
  })
  return { ...accountOf(scene), CallSid: printSid('CA', id), Sid: printSid('RE', recording) }
}

/** Paths with the call alone. */
const ofCall = async (scene: Scene, hasEnded = false) => {
  const { AccountSid, CallSid } = await withCall(scene, { hasEnded })
  return { AccountSid, Sid: CallSid }
}

const ofRecording = async (scene: Scene) => {
  const { AccountSid, Sid } = await withCall(scene, { isRecorded: true })
  return { AccountSid, Sid }
}

const withApplication = async (scene: Scene) => {
  const body = { name: unique(scene.mark), url: 'https://example.com/voice' }
  const { world, tenant } = scene
  // An account may have 500, which a walk makes. The newest ones may be in requests that were made and not sent.
  await world.db.run`
    delete from call_applications where account_id = ${tenant.id} and id not in (
      select id from call_applications where account_id = ${tenant.id} order by id desc limit 200)`
  const made = await world.call(tenant, 'POST', '/open/voip/applications', body)
  return { ...accountOf(scene), Sid: printSid('AP', made.body.application.uuid.slice(3)) }
}

const unknownSid = (prefix: 'SM' | 'PN' | 'CA' | 'RE' | 'AP') => (scene: Scene) => ({
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
  twilioCreateCall: {
    ok: async (scene) => {
      await runCalls(scene)
      const Twiml = `<Response><Say>${unique(scene.mark)}</Say></Response>`
      return { params: accountOf(scene), body: { To: '+447911987654', From: (await scene.number()).number, Twiml } }
    },
    invalid: async (scene) => ({ params: accountOf(scene), body: { From: contact } }),
  },
  twilioListCalls: {
    ok: async (scene) => {
      await withCall(scene)
      return { params: accountOf(scene), query: { PageSize: 2 } }
    },
  },
  twilioFetchCall: { ok: async (scene) => ({ params: await ofCall(scene) }), notFound: unknownSid('CA') },
  twilioUpdateCall: {
    ok: async (scene) => ({ params: await ofCall(scene), body: { Status: 'completed' } }),
    notFound: unknownSid('CA'),
  },
  twilioDeleteCall: {
    ok: async (scene) => ({ params: await ofCall(scene, true) }),
    notFound: unknownSid('CA'),
    conflict: async (scene) => ({ params: await ofCall(scene) }),
  },
  twilioListRecordings: {
    ok: async (scene) => {
      await ofRecording(scene)
      return { params: accountOf(scene), query: { PageSize: 2 } }
    },
  },
  twilioListCallRecordings: {
    ok: async (scene) => {
      const { AccountSid, CallSid } = await withCall(scene, { isRecorded: true })
      return { params: { AccountSid, CallSid } }
    },
    notFound: (scene) => ({ params: { ...accountOf(scene), CallSid: `CA${'0'.repeat(32)}` } }),
  },
  twilioFetchRecording: { ok: async (scene) => ({ params: await ofRecording(scene) }), notFound: unknownSid('RE') },
  twilioFetchCallRecording: {
    ok: async (scene) => ({ params: await withCall(scene, { isRecorded: true }) }),
    notFound: async (scene) => ({ params: { ...(await withCall(scene)), Sid: `RE${'0'.repeat(32)}` } }),
  },
  twilioFetchRecordingFile: { ok: async (scene) => ({ params: await ofRecording(scene) }), notFound: unknownSid('RE') },
  twilioDeleteRecording: {
    ok: async (scene) => ({ params: await ofRecording(scene) }),
    notFound: unknownSid('RE'),
    conflict: async (scene) => {
      const { AccountSid, Sid } = await withCall(scene)
      return { params: { AccountSid, Sid } }
    },
  },
  twilioCreateCallRecording: {
    ok: async (scene) => {
      const { AccountSid, CallSid } = await withCall(scene)
      return { params: { AccountSid, CallSid }, body: {} }
    },
    notFound: (scene) => ({ params: { ...accountOf(scene), CallSid: `CA${'0'.repeat(32)}` } }),
  },
  twilioUpdateCallRecording: {
    ok: async (scene) => ({ params: await withCall(scene), body: { Status: 'paused' } }),
    notFound: async (scene) => ({ params: { ...(await withCall(scene)), Sid: `RE${'0'.repeat(32)}` } }),
  },
  twilioCreateStream: {
    ok: async (scene) => {
      const { AccountSid, CallSid } = await withCall(scene)
      return { params: { AccountSid, CallSid }, body: { Url: 'wss://example.com/sound' } }
    },
    notFound: (scene) => ({
      params: { ...accountOf(scene), CallSid: `CA${'0'.repeat(32)}` },
      body: { Url: 'wss://example.com/sound' },
    }),
  },
  twilioUpdateStream: {
    ok: async (scene) => {
      const { AccountSid, CallSid } = await withCall(scene)
      return { params: { AccountSid, CallSid, Sid: 'tap' }, body: { Status: 'stopped' } }
    },
    notFound: (scene) => ({
      params: { ...accountOf(scene), CallSid: `CA${'0'.repeat(32)}`, Sid: 'tap' },
      body: { Status: 'stopped' },
    }),
  },
  twilioCreateApplication: {
    ok: async (scene) => {
      await withApplication(scene)
      const body = { FriendlyName: unique(scene.mark), VoiceUrl: 'https://example.com/voice' }
      return { params: accountOf(scene), body }
    },
    invalid: (scene) => ({ params: accountOf(scene), body: {} }),
  },
  twilioListApplications: {
    ok: async (scene) => {
      await withApplication(scene)
      return { params: accountOf(scene) }
    },
  },
  twilioFetchApplication: {
    ok: async (scene) => ({ params: await withApplication(scene) }),
    notFound: unknownSid('AP'),
  },
  twilioUpdateApplication: {
    ok: async (scene) => ({ params: await withApplication(scene), body: { FriendlyName: unique(scene.mark) } }),
    notFound: unknownSid('AP'),
  },
  twilioDeleteApplication: {
    ok: async (scene) => ({ params: await withApplication(scene) }),
    notFound: unknownSid('AP'),
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
