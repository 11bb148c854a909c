import { recipes } from '../recipes/all.ts'
import { chatThings } from '../recipes/chat.ts'
import { group, type Scene, setPrices } from '../recipes/scene.ts'
import type { Pool } from './input.ts'

/** A scheduled message can be read and cancelled. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString()

/** Things that inputs can name, made when the first input names their kind. */
export type Stock = {
  /**
   * Restores money, inventory, contacts who take messages and access without a second factor, and forgets the things:
   * requests may have changed or removed them.
   */
  renew(): Promise<void>
  /** Ensures that a thing of each kind exists. */
  supply(kinds: ReadonlySet<string>): Promise<void>
}

/** @param toy a tenant whose own account, key and connection are the targets of changes */
export const makeStock = (scene: Scene, toy: Scene, pool: Pool): Stock => {
  const made = new Map<string, Promise<unknown>>()
  const once = <T>(name: string, make: () => Promise<T>): Promise<T> => {
    // Every caller gives one name the same maker.
    const known = made.get(name) as Promise<T> | undefined
    if (known) return known
    const thing = make()
    made.set(name, thing)
    return thing
  }
  const pinned = (kind: string, make: () => Promise<string | undefined>) => () =>
    once(kind, async () => pool.pin(kind, (await make()) ?? ''))
  const recipe = async (id: string) => await recipes[id]?.ok(scene)
  const restore = () => scene.world.call('operator', 'POST', '/operator/inventory/restore', { group_id: group.id })

  // A purchase from the group takes a number that is reserved in it, so a new one is reserved afterwards.
  const purchase = <T>(name: string, make: () => Promise<T>) =>
    once(name, async () => {
      made.delete('any')
      // An earlier request to the same endpoint may have withdrawn the inventory.
      await restore()
      return await make()
    })
  const message = () =>
    purchase('message', async () => {
      const { uuid, channel, from } = await scene.message({ send_at: tomorrow })
      for (const [kind, id] of Object.entries({ SMO: uuid, SMS: channel, number: from })) pool.pin(kind, id)
      return from
    })
  const chat = () =>
    once('chat', async () => {
      for (const [kind, id] of await chatThings(scene, await message())) pool.pin(kind, id)
    })
  const registration = () =>
    purchase('registration', async () => {
      const { number, document } = await scene.registration()
      pool.pin('DID', number)
      return document
    })
  const suspended = () => purchase('suspended', () => scene.suspended())
  const callerId = pinned('VCI', async () => (await recipe('deleteCallerId'))?.params?.caller_id_uuid)

  const makers: Record<string, () => Promise<unknown>> = {
    ACC: pinned('ACC', async () => toy.tenant.uuid),
    USR: pinned('USR', () => scene.user()),
    KEY: pinned('KEY', () => toy.key()),
    CNX: pinned('CNX', () => toy.connection()),
    CON: pinned('CON', () => scene.contact()),
    OPT: pinned('OPT', async () => (await recipe('getOptOut'))?.params?.opt_out_uuid),
    SND: pinned('SND', async () => (await recipe('getSmsSending'))?.params?.sending_uuid),
    APP: pinned('APP', async () => (await recipe('getApplication'))?.params?.application_uuid),
    WHK: pinned('WHK', () => scene.webhook()),
    WHD: pinned('WHD', () => scene.delivery()),
    IMP: pinned('IMP', () => scene.imported()),
    EVT: pinned('EVT', async () => (await recipe('getEvent'))?.params?.event_uuid),
    CDR: pinned('CDR', async () => (await recipe('getCall'))?.params?.call_uuid),
    CLP: pinned('CLP', () => scene.clip()),
    ASD: pinned('ASD', async () => (await recipe('retrySetAside'))?.params?.uuid),
    DJB: pinned('DJB', async () => (await recipe('deleteDeadJob'))?.params?.job_uuid),
    CNV: pinned('CNV', async () => (await recipe('getInboxConversation'))?.params?.conversation_uuid),
    TAG: pinned('TAG', async () => (await recipe('deleteTag'))?.params?.tag_uuid),
    NTE: pinned('NTE', async () => (await recipe('deleteNote'))?.params?.note_uuid),
    RPL: pinned('RPL', async () => (await recipe('deleteReply'))?.params?.reply_uuid),
    VIW: pinned('VIW', async () => (await recipe('deleteView'))?.params?.view_uuid),
    JOB: pinned('JOB', async () => (await recipe('showBulkChange'))?.params?.job_uuid),
    VCI: () => purchase('caller id', callerId),
    ...{ SMO: message, SMI: message, SMS: message },
    ...{ number: chat, CHK: chat, WPN: chat, WAG: chat, MSG: chat, session: chat },
    // Learned for each input: answers with lists would displace the only suspended number.
    DID: async () => {
      await registration()
      pool.learn(await suspended())
    },
    DOC: async () => {
      await pinned('DOC', () => scene.document())()
      pool.learn(await registration())
    },
    any: pinned('any', async () => (await scene.reservation()).uuid),
  }

  return {
    renew: async () => {
      made.clear()
      await setPrices(scene.world)
      const credit = { amount: '10000000' }
      await scene.world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/credit`, credit)
      await restore()
      await scene.world.db.run`delete from sms_opt_outs where account_id = ${scene.tenant.id}`
      await scene.world.call(scene.tenant, 'PATCH', '/open/account', { second_factor_required: false })
    },
    supply: async (kinds) => {
      for (const kind of kinds) if (kind !== 'any') await makers[kind]?.()
      if (kinds.has('any')) await makers.any?.()
    },
  }
}
