import { randomBytes } from 'node:crypto'
import type { ChatGroup, ChatGroupChange, ChatGroupMade, ChatMember, ChatParticipant } from '../chat-port.ts'
import type { Asked } from '../port.ts'
import type { Addresses } from './addresses.ts'
import { bareOf } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { child, elements, type Xml, xml } from './codec/xml.ts'
import { fieldsIn, form } from './forms.ts'
import type { Answer } from './requests.ts'
import type { Rooms } from './rooms.ts'
import { infoOf } from './services.ts'
import type { Wire } from './wire.ts'

export type GroupsTools = {
  readonly wire: Wire
  readonly addresses: Addresses
  readonly rooms: Rooms
  /** The server's service for groups. */
  service(): Promise<string | null>
  exists(number: string): Promise<'yes' | 'no' | 'unknown'>
}

type Affiliation = 'owner' | 'admin' | 'member' | 'none'

/** What an answer means for whom asked; `lost` may have been done. */
const askedOf = (answer: Answer): Asked<null> => {
  if (answer.outcome === 'result') return { outcome: 'done', value: null }
  if (answer.outcome === 'lost') return { outcome: 'unknown', reason: answer.reason }
  const { reason } = answer
  return answer.waits ? { outcome: 'later', seconds: 5, reason } : { outcome: 'refused', reason }
}

const affiliate = (wire: Wire, room: string, jid: string, affiliation: Affiliation): Promise<Answer> => {
  const item = xml('item', ns.mucAdmin, { affiliation, jid })
  return wire.request(xml('iq', '', { type: 'set', to: room }, xml('query', ns.mucAdmin, {}, item)))
}

const invite = (wire: Wire, room: string, jid: string): boolean =>
  wire.send(xml('message', '', { to: room }, xml('x', ns.mucUser, {}, xml('invite', ns.mucUser, { to: jid }))))

const configure = (wire: Wire, room: string, fields: Record<string, string>): Promise<Answer> => {
  const wish = form('http://jabber.org/protocol/muc#roomconfig', fields)
  return wire.request(xml('iq', '', { type: 'set', to: room }, xml('query', ns.mucOwner, {}, wish)))
}

/** Who has an affiliation; null when the group does not tell us. */
const listed = async (wire: Wire, room: string, affiliation: Affiliation): Promise<string[] | null> => {
  const item = xml('item', ns.mucAdmin, { affiliation })
  const answer = await wire.request(xml('iq', '', { type: 'get', to: room }, xml('query', ns.mucAdmin, {}, item)))
  const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.mucAdmin)
  return query ? elements(query, 'item').flatMap(({ attrs: { jid } }) => (jid ? [bareOf(jid)] : [])) : null
}

/** Everybody who belongs to a group, as far as it tells; who is there at least. */
const membersOf = async ({ wire, addresses, rooms }: GroupsTools, jid: string): Promise<ChatMember[]> => {
  const [owners, admins, members] = await Promise.all(
    (['owner', 'admin', 'member'] as const).map((affiliation) => listed(wire, jid, affiliation)),
  )
  const room = rooms.get(jid)
  const present = [...(room?.present.values() ?? [])].flatMap((one) => one ?? [])
  const all = new Set([...(owners ?? []), ...(admins ?? []), ...(members ?? []), ...present])
  if (room && owners && members) room.members = new Set(all)
  return [...all].map((one) => ({
    ...addresses.remoteOf(one),
    admin: owners?.includes(one) === true || admins?.includes(one) === true,
    creator: owners?.includes(one) === true,
  }))
}

/** Takes one number in: members only may enter, so it is made one, and is told. */
const takeIn = async (tools: GroupsTools, room: string, number: string): Promise<ChatParticipant> => {
  const { wire, addresses } = tools
  const jid = addresses.jidOf(number)
  if (tools.rooms.get(room)?.members?.has(jid))
    return { number, code: 409, message: 'already in the group', invited: false }
  const there = await tools.exists(number)
  if (there === 'no') return { number, code: 404, message: 'the number is not on the network', invited: false }
  const answer = await affiliate(wire, room, jid, 'member')
  if (answer.outcome !== 'result') return { number, code: 500, message: answer.reason, invited: false }
  tools.rooms.get(room)?.members?.add(jid)
  invite(wire, room, jid)
  if (there === 'yes') return { number, code: 200, message: 'added', invited: false }
  return { number, code: 403, message: 'invited: the network does not tell whether the number is on it', invited: true }
}

/** Makes a group that stays, for members only, who see each other's addresses. */
export const createGroup = async (
  tools: GroupsTools,
  group: { readonly name: string; readonly description: string | null; readonly participants: readonly string[] },
): Promise<Asked<ChatGroupMade>> => {
  const { wire, rooms } = tools
  const service = await tools.service()
  if (service === null) return { outcome: 'refused', reason: 'the server has no service for groups' }
  const id = `${randomBytes(10).toString('hex')}@${service}`
  const joined = await rooms.join(id, null)
  if (joined.outcome !== 'done') return joined
  const configured = await configure(wire, id, {
    'muc#roomconfig_roomname': group.name,
    'muc#roomconfig_roomdesc': group.description ?? '',
    'muc#roomconfig_persistentroom': '1',
    'muc#roomconfig_membersonly': '1',
    'muc#roomconfig_publicroom': '0',
    'muc#roomconfig_whois': 'anyone',
    'muc#roomconfig_moderatedroom': '0',
  })
  if (configured.outcome !== 'result') {
    await rooms.forget(id)
    return askedOf(configured).outcome === 'refused'
      ? { outcome: 'refused', reason: configured.reason }
      : { outcome: 'unknown', reason: configured.reason }
  }
  const room = rooms.get(id)
  if (room) {
    room.name = group.name
    room.members = new Set([wire.self])
  }
  const participants: ChatParticipant[] = []
  for (const number of group.participants) participants.push(await takeIn(tools, id, number))
  return { outcome: 'done', value: { id, participants } }
}

export const listGroups = async (tools: GroupsTools): Promise<Asked<readonly ChatGroup[]>> => {
  const groups: ChatGroup[] = []
  for (const room of tools.rooms.all()) {
    if (!room.isIn) continue
    const info = await infoOf(tools.wire, room.jid)
    if (!info) return { outcome: 'later', seconds: 5, reason: 'the group did not answer' }
    room.name = elements(info.query, 'identity')[0]?.attrs.name ?? room.name
    const description = fieldsIn(info.query).get('muc#roominfo_description') || null
    const members = await membersOf(tools, room.jid)
    groups.push({ id: room.jid, name: room.name ?? '', description, readOnly: !room.canSpeak, members })
  }
  return { outcome: 'done', value: groups }
}

const moves = { remove: 'none', promote: 'admin', demote: 'member' } as const

const move = async (
  { wire, addresses, rooms }: GroupsTools,
  room: string,
  act: keyof typeof moves,
  number: string,
): Promise<ChatParticipant> => {
  const jid = addresses.jidOf(number)
  const members = rooms.get(room)?.members
  if (members && !members.has(jid)) return { number, code: 404, message: 'not in the group', invited: false }
  const answer = await affiliate(wire, room, jid, moves[act])
  if (answer.outcome !== 'result') {
    return { number, code: answer.outcome === 'error' ? 403 : 500, message: answer.reason, invited: false }
  }
  if (act === 'remove') members?.delete(jid)
  return { number, code: 200, message: 'done', invited: false }
}

const pictureOf = (image: Buffer | null): Xml =>
  xml(
    'vCard',
    ns.vcardTemp,
    {},
    image && xml('PHOTO', ns.vcardTemp, {}, xml('BINVAL', ns.vcardTemp, {}, image.toString('base64'))),
  )

export const changeGroup = async (
  tools: GroupsTools,
  room: string,
  change: ChatGroupChange,
): Promise<Asked<readonly ChatParticipant[]>> => {
  const { wire } = tools
  if (!tools.rooms.get(room)?.isIn) return { outcome: 'refused', reason: 'the number is not in the group' }
  if (change.act === 'description' || change.act === 'picture') {
    const answer =
      change.act === 'description'
        ? await configure(wire, room, { 'muc#roomconfig_roomdesc': change.text })
        : await wire.request(xml('iq', '', { type: 'set', to: room }, pictureOf(change.image)))
    const asked = askedOf(answer)
    return asked.outcome === 'done' ? { outcome: 'done', value: [] } : asked
  }
  if (!tools.rooms.get(room)?.members) await membersOf(tools, room)
  const participants: ChatParticipant[] = []
  for (const number of change.numbers) {
    participants.push(
      change.act === 'add' ? await takeIn(tools, room, number) : await move(tools, room, change.act, number),
    )
  }
  return { outcome: 'done', value: participants }
}

/** Learns who belongs to a group, so that later changes are seen as such. */
export const learnMembers = async (tools: GroupsTools, jid: string): Promise<void> => {
  await membersOf(tools, jid)
}
