import { uuid } from '../../src/platform/lib/id.ts'
import { chatChannel, checkBatch } from './chat.ts'
import type { Recipe, Recipes } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

const handset = '+447700900123'
const picture = 'http://127.0.0.1:1024/picture.jpg'

/** A connected number. */
const number = async (scene: Scene): Promise<string> => {
  const number = scene.chatNumber()
  await scene.chat(number)
  return number
}

const created = async (scene: Scene) => ({
  from_number: await number(scene),
  group: { name: unique(scene.mark), participants: [handset] },
})

/** A group of a connected number. */
const group = async (scene: Scene): Promise<string> =>
  (await scene.world.call(scene.tenant, 'POST', '/open/msgapp/group/create', await created(scene))).body.group.uuid

/** A number whose network lacks the operation or is unreachable. */
const unable = async (scene: Scene) => (await chatChannel(scene, 'carrier-pigeon')).number
const down = async (scene: Scene) => {
  const { id, number } = await chatChannel(scene)
  await scene.world.db.run`update msgapp_channels set enabled = false where id = ${id}`
  return number
}

const groupOn = async (scene: Scene, on: string): Promise<string> => {
  const id = uuid()
  await scene.world.db.run`
    insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
    select account_id, ${id}, id, ${`${id}@g.us`}, ${scene.mark}, now(), now() from msgapp_channels
    where phone_number = ${on}`
  return `WAG${id}`
}

const named = async (group_uuid: string | Promise<string>) => ({ params: { group_uuid: await group_uuid } })

const changed = (body: (scene: Scene) => object): Recipe => ({
  ok: async (scene) => ({ ...(await named(group(scene))), body: body(scene) }),
  notSupported: async (scene) => ({ ...(await named(groupOn(scene, await unable(scene)))), body: body(scene) }),
  conflict: async (scene) => ({ ...(await named(groupOn(scene, await down(scene)))), body: body(scene) }),
  // The network knows no such group.
  unprocessable: async (scene) => ({ ...(await named(groupOn(scene, await number(scene)))), body: body(scene) }),
})

const members = () => ({ participants: [handset] })
const profile = (body: (scene: Scene) => object): Recipe => ({
  ok: async (scene) => ({ params: { number: await number(scene) }, body: body(scene) }),
  notFound: (scene) => ({ params: { number: '+441632999998' }, body: body(scene) }),
  notSupported: async (scene) => ({ params: { number: await unable(scene) }, body: body(scene) }),
})

export const groupRecipes: Recipes = {
  createGroup: {
    ok: async (scene) => ({ body: await created(scene) }),
    notFound: () => ({ body: { from_number: '+441632999998', group: { name: 'x', participants: [handset] } } }),
    notSupported: async (scene) => ({
      body: { from_number: await unable(scene), group: { name: 'x', participants: [handset] } },
    }),
    conflict: async (scene) => ({
      body: { from_number: await down(scene), group: { name: 'x', participants: [handset] } },
    }),
  },
  listGroups: {
    ok: async (scene) => ({ params: { number: await number(scene) } }),
    notFound: () => ({ params: { number: '+441632999998' } }),
  },
  getGroup: { ok: async (scene) => named(group(scene)) },
  addParticipant: changed(members),
  removeParticipant: changed(members),
  promoteParticipant: changed(members),
  demoteParticipant: changed(members),
  setGroupDescription: changed((scene) => ({ description: unique(scene.mark) })),
  setGroupPicture: {
    ok: async (scene) => ({ ...(await named(group(scene))), body: { url: picture } }),
    notSupported: async (scene) => ({ ...(await named(groupOn(scene, await unable(scene)))), body: { url: picture } }),
  },
  setProfilePicture: profile(() => ({ url: picture })),
  setStatusText: profile((scene) => ({ status: unique(scene.mark) })),

  checkNumber: {
    ok: async (scene) => ({ params: { your_number: await number(scene), number_to_check: handset } }),
    notFound: () => ({ params: { your_number: '+441632999998', number_to_check: handset } }),
    invalid: () => ({ params: { your_number: '1'.repeat(65), number_to_check: handset } }),
  },
  checkNumbers: {
    ok: async (scene) => {
      await number(scene)
      return { body: { numbers: [handset, '123'] } }
    },
    conflict: async (scene) => {
      await scene.world.db.run`update msgapp_channels set enabled = false where account_id = ${scene.tenant.id}`
      return { body: { numbers: [handset] } }
    },
  },
  getCheckBatch: {
    ok: async (scene) => {
      await number(scene)
      return { params: { batch_uuid: await checkBatch(scene) } }
    },
  },
}
