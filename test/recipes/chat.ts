import { uuid } from '../../src/platform/lib/id.ts'
import { idleConnection } from '../connection.ts'
import { until } from '../platform.ts'
import { type Scene, unique } from './scene.ts'

let numbers = 0

/** A connected number on the messaging app. */
export const chatChannel = async ({ world, tenant, mark }: Scene, platform = 'sandbox', own?: string) => {
  const [id, number] = [uuid(), own ?? `+44151${String(4_960_000 + ++numbers)}`]
  // Uses the running network where possible, so that its operations are answered.
  const running = await world.db.maybe<{ id: string }>`
    select id from connections where kind = ${platform} and enabled limit 1`
  const idle = async () => (platform === 'sandbox' ? idleConnection(world.db) : uuid())
  const connection = running?.id ?? (await idle())
  await world.db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code, timezone,
      created_at, updated_at)
    values (${tenant.id}, ${id}, ${connection}, ${platform}, ${number}, ${unique(mark)}, 'GB', 'Europe/London', now(), now())`
  await world.db.run`
    insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
    values (${tenant.id}, ${id}, 'connected', 'test', now(), now() + interval '1 day')`
  return { id, channel: `WPN${id}`, number }
}

type Channel = Awaited<ReturnType<typeof chatChannel>>

/** A group with a connected number in it. */
export const chatGroup = async (scene: Scene, isMade = true, on?: Channel) => {
  const { id: channel, number } = on ?? (await chatChannel(scene))
  const id = uuid()
  await scene.world.db.run`
    insert into msgapp_groups (account_id, id, channel_id, network_id, name, created_at, updated_at)
    values (${scene.tenant.id}, ${id}, ${channel}, ${isMade ? `${id}@g.us` : null}, ${unique(scene.mark)}, now(), now())`
  return { group: `WAG${id}`, number }
}

export const handset = '+447700900123'

/** A message that was accepted. */
export const chatMessage = async (scene: Scene, on?: Channel) => {
  const { channel, number } = on ?? (await chatChannel(scene))
  const body = { from_number: number, to_number: handset, text: unique(scene.mark) }
  const answer = await scene.world.call(scene.tenant, 'POST', '/open/msgapp/send-message', body)
  const session_key = `WW-${channel}-${handset.slice(1)}@c.us`
  return { channel, number, params: { session_key, message_uuid: String(answer.body.message_uuid) } }
}

/** A contact without a known number has written: identified by the id in the documentation (`to_remote_id`). */
const chatWithHidden = async ({ world, tenant }: Scene, { id }: Channel) => {
  const hidden = '123456789012345@lid'
  await world.db.run`
    insert into msgapp_chats (account_id, channel_id, peer, remote_id, last_at, last_message_id)
    values (${tenant.id}, ${id}, ${hidden}, ${hidden}, now(), ${uuid()})`
}

/** A batch of numbers to check. The network may be about to connect the account's number. */
export const checkBatch = async ({ world, tenant }: Scene): Promise<string> => {
  const { body } = await until(async () => {
    const answer = await world.call(tenant, 'POST', '/open/msgapp/check-numbers', { numbers: ['123'] })
    return answer.status === 202 && answer
  })
  return body.batch.uuid
}

/** Things of every kind on a number. */
export const chatThings = async (scene: Scene, number: string): Promise<[string, string][]> => {
  const channel = await chatChannel(scene, 'sandbox', number)
  const { group } = await chatGroup(scene, true, channel)
  const { params } = await chatMessage(scene, channel)
  await chatWithHidden(scene, channel)
  return [
    ['CHK', await checkBatch(scene)],
    ['WPN', channel.channel],
    ['WAG', group],
    ['MSG', params.message_uuid],
    ['session', params.session_key],
  ]
}
