import type { Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const contact = '+447700900123'

/** Starts a sending that has not ended: the world of recipes submits nothing. */
const startSending = async (scene: Scene): Promise<string> => {
  const body = { from_number: (await scene.number()).number, text: unique(scene.mark), to_numbers: [freshContact()] }
  return (await scene.world.call(scene.tenant, 'POST', '/open/sms/send-many', body)).body.sending_uuid
}

/** Starts a sending that has nothing left to submit. */
const endSending = async (scene: Scene): Promise<string> => {
  const sending = await startSending(scene)
  await scene.world.db.run`update sms_messages set status = 'sent' where sending_id = ${sending.slice(3)}`
  return sending
}

/** Starts and cancels a sending. */
const cancelSending = async (scene: Scene): Promise<string> => {
  const sending = await startSending(scene)
  await scene.world.call(scene.tenant, 'POST', `/open/sms/sendings/${sending}/cancel`)
  return sending
}

let contacts = 0
/** A contact to which no other recipe writes. */
const freshContact = () => `+4479110${String(++contacts).padStart(5, '0')}`

const addOptOut = async (scene: Scene): Promise<string> => {
  const body = { contact_number: freshContact(), note: scene.mark }
  const { body: answer } = await scene.world.call(scene.tenant, 'POST', '/open/sms/opt-outs', body)
  return answer.opt_out.uuid
}

/** Scenes whose list has an opt-out. */
const listed = new WeakMap<Scene, Promise<string>>()

export const smsRecipes: Recipes = {
  sendSms: {
    ok: async (scene) => ({
      body: { from_number: (await scene.number()).number, to_number: contact, text: unique(scene.mark) },
    }),
    notFound: () => ({ body: { from_number: contact, to_number: contact, text: 'x' } }),
    // No carrier of the world of recipes takes files.
    notSupported: async (scene) => ({
      body: {
        ...{ from_number: (await scene.number()).number, to_number: contact, text: '' },
        media_urls: ['https://example.com/parcel.jpg'],
      },
    }),
  },
  sendManySms: {
    ok: async (scene) => ({
      body: {
        from_number: (await scene.number()).number,
        text: unique(scene.mark),
        to_numbers: [freshContact(), freshContact()],
      },
    }),
    invalid: () => ({ body: { from_number: contact, text: 'x' } }),
  },
  listSmsSendings: {
    ok: async (scene) => {
      await startSending(scene)
      return { query: { results_per_page: 2 } }
    },
  },
  getSmsSending: { ok: async (scene) => ({ params: { sending_uuid: await startSending(scene) } }) },
  pauseSmsSending: {
    ok: async (scene) => ({ params: { sending_uuid: await startSending(scene) } }),
    conflict: async (scene) => ({ params: { sending_uuid: await cancelSending(scene) } }),
  },
  resumeSmsSending: {
    ok: async (scene) => ({ params: { sending_uuid: await startSending(scene) } }),
    conflict: async (scene) => ({ params: { sending_uuid: await cancelSending(scene) } }),
  },
  cancelSmsSending: {
    ok: async (scene) => ({ params: { sending_uuid: await startSending(scene) } }),
    conflict: async (scene) => ({ params: { sending_uuid: await endSending(scene) } }),
  },
  previewSms: { ok: ({ mark }) => ({ body: { to_number: contact, text: `${mark} я` } }) },
  listSmsChannels: { ok: async (scene) => scene.number().then(() => ({})) },
  getSmsChannel: { ok: async (scene) => ({ params: { channel_uuid: (await scene.number()).channel } }) },
  getSmsThread: {
    ok: async (scene) => {
      const { channel, to } = await scene.message()
      return { params: { channel_uuid: channel, contact_number: to }, query: { results_per_page: 2 } }
    },
    unprocessable: async (scene) => {
      const { channel } = await scene.message()
      return { params: { channel_uuid: channel, contact_number: '+12' } }
    },
  },
  listSmsMessages: {
    ok: async (scene) => {
      const { channel } = await scene.message()
      return { query: { channel_uuid: channel, direction: 'outbound', results_per_page: 2 } }
    },
    unprocessable: () => ({ query: { contact_number: '+12' } }),
  },
  getSmsMessage: {
    ok: async (scene) => ({ params: { message_uuid: (await scene.message()).uuid } }),
    notFound: () => ({ params: { message_uuid: 'SMO01a1fcca-93ab-7cbc-9f10-be702f775479' } }),
  },
  getSmsTimeline: {
    ok: async (scene) => ({ params: { message_uuid: (await scene.message()).uuid } }),
    notFound: () => ({ params: { message_uuid: 'SMO01a1fcca-93ab-7cbc-9f10-be702f775479' } }),
  },
  cancelSms: {
    ok: async (scene) => {
      const { uuid } = await scene.message({ send_at: new Date(Date.now() + 86_400_000).toISOString() })
      return { params: { message_uuid: uuid } }
    },
    conflict: async (scene) => ({ params: { message_uuid: (await scene.message()).uuid } }),
  },
  listOptOuts: {
    ok: async (scene) => {
      const known = listed.get(scene) ?? addOptOut(scene)
      listed.set(scene, known)
      await known
      return { query: { results_per_page: 2 } }
    },
    unprocessable: () => ({ query: { contact_number: '+12' } }),
  },
  createOptOut: {
    ok: ({ mark }) => ({ body: { contact_number: freshContact(), note: mark } }),
    notFound: () => ({ body: { contact_number: contact, phone_number: contact } }),
  },
  importOptOuts: {
    ok: ({ mark }) => ({ body: `contact_number,note\n${freshContact()},${mark}\n` }),
    invalid: () => ({ body: 'nobody\n' }),
  },
  getOptOut: { ok: async (scene) => ({ params: { opt_out_uuid: await addOptOut(scene) } }) },
  deleteOptOut: { ok: async (scene) => ({ params: { opt_out_uuid: await addOptOut(scene) } }) },
  inspectMessage: {
    ok: async (scene) => ({ params: { message_uuid: (await scene.message()).uuid } }),
    notFound: () => ({ params: { message_uuid: 'SMO01a1fcca-93ab-7cbc-9f10-be702f775479' } }),
  },

  getHandset: { ok: () => ({ params: { number: contact } }), invalid: () => ({ params: { number: '4'.repeat(41) } }) },
  setHandset: { ok: () => ({ params: { number: '+447700900999' }, body: { sms: 'deliver' } }) },
  sendFromHandset: {
    ok: async (scene) => ({
      params: { number: contact },
      body: { to: (await scene.number()).number, text: unique(scene.mark) },
    }),
    notFound: () => ({ params: { number: contact }, body: { to: '+441632999998', text: 'x' } }),
  },
  moveClock: {
    ok: async (scene) => {
      // The clock cannot be moved while any account is not a sandbox account.
      await scene.world.db.run`update accounts set sandbox = true where not sandbox`
      return { body: { advance_seconds: 0 } }
    },
  },
}
