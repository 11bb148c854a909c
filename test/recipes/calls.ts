import { beginCall, callAnswered, callEnded } from '../../src/domains/calls/ops.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

let proved = 0
/** A mobile number that is not verified yet. */
const newcomer = (): string => `+4479111${String(20_000 + ++proved)}`

/**
 * A number of the tenant's own that waits for its code. The text to the handset is only in the job. Where a worker has
 * ended the job already, another number is tried.
 */
const callerId = async (scene: Scene, tries = 5): Promise<{ caller_id_uuid: string; code: string }> => {
  const { number: from_number } = await scene.number()
  // A walk requests more codes than an account may in a day.
  await scene.world.db.run`delete from caller_id_code_counters`
  const body = { phone_number: newcomer(), friendly_name: scene.mark, from_number }
  const { body: made } = await scene.world.call(scene.tenant, 'POST', '/open/voip/caller-ids', body)
  const [job] = await scene.world.db.many<{ text: string }>`
    select payload ->> 'text' as text from jobs where id = ${made.message_uuid.slice(3)}::uuid`
  if (job) return { caller_id_uuid: made.caller_id.uuid, code: job.text.slice(0, 6) }
  if (tries > 1) return callerId(scene, tries - 1)
  throw new Error('each job with a code ended before it could be read')
}

const other = (code: string): string => String((Number(code) + 1) % 1_000_000).padStart(6, '0')

/** Tenants that have a call. */
const called = new Set<string>()

/** An active call. */
const call = async (scene: Scene, isChat = false): Promise<string> => {
  const [id, user] = [uuid(), await scene.user()]
  await scene.world.db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: scene.tenant.id, id, callid: `${scene.mark} ${id}`, direction: 'I', user_id: null },
      ...{ from_number: '+447700900123', to_number: '+441632960000', iso_country_code: 'GB', is_msgapp: isChat },
      ...{ is_trunk: !isChat, caller_id: null, caller_id_used: '+447700900123', virtual_number_id: null },
      ...{ toll_free: false, rate: '0.01' },
    })
    await callAnswered(tx, scene.tenant.id, id, user.slice(3))
  })
  called.add(scene.tenant.id)
  return `CDR${id}`
}

/** A trunk that no process runs. */
const trunk = async (scene: Scene): Promise<string> => {
  const name = unique(scene.mark)
  const settings = { host: '127.0.0.1', port: 9 }
  await scene.world.call('operator', 'POST', '/operator/connections', {
    kind: 'sip-trunk',
    name,
    settings,
    enabled: false,
  })
  return name
}

/** As if a process ran the calls. */
const runVoice = (scene: Scene) => scene.world.db.run`update voice_lease set holder = 'recipes'`

/** What a call of the API needs: a caller ID of the account that no carrier has to prove. */
const order = async (scene: Scene) => {
  await runVoice(scene)
  // A walk makes more calls than an account may in a minute.
  await scene.world.db.run`delete from call_usage where account_id = ${scene.tenant.id}`
  const to = await scene.user()
  return { from_number: (await scene.number()).number, to, verbs: [{ verb: 'hangup' }] }
}

/** A call of the API that waits. */
const queued = async (scene: Scene): Promise<string> => {
  const { status, body } = await scene.world.call(scene.tenant, 'POST', '/open/voip/calls', await order(scene))
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.cdr.uuid
}

export const callRecipes: Recipes = {
  createCall: {
    ok: async (scene) => ({ body: await order(scene) }),
    forbidden: async (scene) => ({ body: { ...(await order(scene)), from_number: newcomer() } }),
    notFound: async (scene) => ({ body: { ...(await order(scene)), to: `USR${uuid()}` } }),
    unprocessable: async (scene) => ({ body: { ...(await order(scene)), to: 'nobody' } }),
    unavailable: async (scene) => {
      const body = await order(scene)
      await scene.world.db.run`update voice_lease set holder = null`
      return { body }
    },
  },
  commandCall: {
    ok: async (scene) => ({ params: { call_uuid: await queued(scene) }, body: { command: 'hangup' } }),
    again: async (scene) => {
      await runVoice(scene)
      return { params: { call_uuid: await call(scene) }, body: { command: 'stop' } }
    },
    conflict: async (scene) => {
      const call_uuid = await call(scene)
      const end = { status: 'COMPLETED', reason: '200' } as const
      await scene.world.db.begin((tx) => callEnded(tx, scene.tenant.id, call_uuid.slice(3), end))
      return { params: { call_uuid }, body: { command: 'hangup' } }
    },
    notSupported: async (scene) => ({ params: { call_uuid: await call(scene, true) }, body: { command: 'hangup' } }),
    unavailable: async (scene) => {
      const call_uuid = await call(scene)
      await scene.world.db.run`update voice_lease set holder = null`
      return { params: { call_uuid }, body: { command: 'stop' } }
    },
  },
  getProgramSecret: { ok: () => ({}) },
  rotateProgramSecret: { ok: () => ({}) },
  getCallHistory: {
    ok: async (scene) => {
      // At most one: a growing list would differ between answers.
      if (!called.has(scene.tenant.id)) await call(scene)
      return { query: { results_per_page: 5 } }
    },
    notFound: () => ({ query: { user_uuid: `USR${uuid()}` } }),
  },
  getCallTimeline: { ok: async (scene) => ({ params: { call_uuid: await call(scene) } }) },
  getCallTimelineOfAccount: {
    ok: async (scene) => ({ params: { account_uuid: scene.tenant.uuid, call_uuid: await call(scene) } }),
  },
  getAssertedCaller: {
    ok: async (scene) => ({ params: { account_uuid: scene.tenant.uuid, call_uuid: await call(scene) } }),
  },
  listOpenCalls: {
    ok: async (scene) => {
      await call(scene)
      return { query: { results_per_page: 5 } }
    },
  },
  hangUpCall: {
    ok: async (scene) => ({ params: { account_uuid: scene.tenant.uuid, call_uuid: await call(scene) } }),
    conflict: async (scene) => {
      const call_uuid = await call(scene)
      const end = { status: 'COMPLETED', reason: '200' } as const
      await scene.world.db.begin((tx) => callEnded(tx, scene.tenant.id, call_uuid.slice(3), end))
      return { params: { account_uuid: scene.tenant.uuid, call_uuid } }
    },
    notSupported: async (scene) => ({
      params: { account_uuid: scene.tenant.uuid, call_uuid: await call(scene, true) },
    }),
  },
  getCallLimits: { ok: (scene) => ({ params: { account_uuid: scene.tenant.uuid } }) },
  changeCallLimits: {
    ok: (scene) => ({ params: { account_uuid: scene.tenant.uuid }, body: { calls_at_a_time: 5 } }),
  },
  checkTrunk: {
    ok: async (scene) => ({ params: { trunk_name: await trunk(scene) }, body: {} }),
    notFound: ({ mark }) => ({ params: { trunk_name: unique(mark) }, body: {} }),
    unprocessable: async (scene) => ({ params: { trunk_name: await trunk(scene) }, body: { echo_number: '12' } }),
  },
  getCall: { ok: async (scene) => ({ params: { call_uuid: await call(scene) } }) },
  estimateCallPrice: {
    ok: () => ({ params: { number: '+447700900123' } }),
    invalid: () => ({ params: { number: '4'.repeat(41) } }),
  },
  listCallerIds: { ok: async (scene) => callerId(scene).then(() => ({ query: { results_per_page: 5 } })) },
  createCallerId: {
    ok: async (scene) => ({
      body: {
        phone_number: newcomer(),
        friendly_name: scene.mark,
        from_number: (await scene.number()).number,
      },
    }),
    notFound: () => ({ body: { phone_number: newcomer(), from_number: '+447700900123' } }),
  },
  verifyCallerId: {
    ok: async (scene) => {
      const { caller_id_uuid, code } = await callerId(scene)
      return { params: { caller_id_uuid }, body: { code } }
    },
    unprocessable: async (scene) => {
      const { caller_id_uuid, code } = await callerId(scene)
      return { params: { caller_id_uuid }, body: { code: other(code) } }
    },
  },
  deleteCallerId: {
    ok: async (scene) => ({ params: { caller_id_uuid: (await callerId(scene)).caller_id_uuid } }),
    conflict: async (scene) => {
      await scene.number()
      const { body } = await scene.world.call(scene.tenant, 'GET', '/open/voip/caller-ids?results_per_page=200')
      const bought = body.caller_ids.find(({ type }: { type: string }) => type === 'VN')
      return { params: { caller_id_uuid: bought.uuid } }
    },
  },
}
