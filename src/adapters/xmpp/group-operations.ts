import { randomBytes } from 'node:crypto'
import type { IqResult } from '@trunkline/xmpp/iq-requests.ts'
import { bareOf } from '@trunkline/xmpp/jid.ts'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { child, elements, type XmlElement, xml } from '@trunkline/xmpp/xml.ts'
import type { ChatGroup, ChatGroupChange, ChatGroupCreation, ChatMember, ChatParticipant } from '../../ports/chat.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type { Addresses } from './addresses.ts'
import { fieldsIn, form } from './forms.ts'
import type { Rooms } from './rooms.ts'
import { infoOf } from './service-discovery.ts'

export type GroupDeps = {
  readonly wire: Wire
  readonly addresses: Addresses
  readonly rooms: Rooms
  /** Address of the server's group service, or null. */
  service(): Promise<string | null>
  exists(number: string): Promise<'yes' | 'no' | 'unknown'>
}

type Affiliation = 'owner' | 'admin' | 'member' | 'none'

/** Maps an answer to an outcome. A `lost` request may have been executed. */
const outcomeOf = (answer: IqResult): ServiceResult<null> => {
  if (answer.outcome === 'result') return { outcome: 'done', value: null }
  if (answer.outcome === 'lost') return { outcome: 'unknown', reason: answer.reason }
  const { reason } = answer
  return answer.waits ? { outcome: 'later', seconds: 5, reason } : { outcome: 'refused', reason }
}

const affiliate = (wire: Wire, room: string, jid: string, affiliation: Affiliation): Promise<IqResult> => {
  const item = xml('item', ns.mucAdmin, { affiliation, jid })
  return wire.request(xml('iq', '', { type: 'set', to: room }, xml('query', ns.mucAdmin, {}, item)))
}

const invite = (wire: Wire, room: string, jid: string): boolean =>
  wire.send(xml('message', '', { to: room }, xml('x', ns.mucUser, {}, xml('invite', ns.mucUser, { to: jid }))))

const configure = (wire: Wire, room: string, fields: Record<string, string>): Promise<IqResult> => {
  const configForm = form('http://jabber.org/protocol/muc#roomconfig', fields)
  return wire.request(xml('iq', '', { type: 'set', to: room }, xml('query', ns.mucOwner, {}, configForm)))
}

/** Addresses with an affiliation; null when the group does not list them. */
const listAffiliation = async (wire: Wire, room: string, affiliation: Affiliation): Promise<string[] | null> => {
  const item = xml('item', ns.mucAdmin, { affiliation })
  const answer = await wire.request(xml('iq', '', { type: 'get', to: room }, xml('query', ns.mucAdmin, {}, item)))
  const query = answer.outcome === 'result' && child(answer.iq, 'query', ns.mucAdmin)
  return query ? elements(query, 'item').flatMap(({ attrs: { jid } }) => (jid ? [bareOf(jid)] : [])) : null
}

/** All known members of a group; at least its present occupants. */
const membersOf = async ({ wire, addresses, rooms }: GroupDeps, jid: string): Promise<ChatMember[]> => {
  const [owners, admins, members] = await Promise.all(
    (['owner', 'admin', 'member'] as const).map((affiliation) => listAffiliation(wire, jid, affiliation)),
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

/** Adds one number. The group is members-only, so the number becomes a member and receives an invitation. */
const addMember = async (tools: GroupDeps, room: string, number: string): Promise<ChatParticipant> => {
  const { wire, addresses } = tools
  const jid = addresses.jidOf(number)
  if (tools.rooms.get(room)?.members?.has(jid))
    return { number, code: 409, message: 'already in the group', invited: false }
  const exists = await tools.exists(number)
  if (exists === 'no') return { number, code: 404, message: 'the number is not on the network', invited: false }
  const answer = await affiliate(wire, room, jid, 'member')
  if (answer.outcome !== 'result') return { number, code: 500, message: answer.reason, invited: false }
  tools.rooms.get(room)?.members?.add(jid)
  invite(wire, room, jid)
  if (exists === 'yes') return { number, code: 200, message: 'added', invited: false }
  return { number, code: 403, message: 'invited: the network does not say whether the number is on it', invited: true }
}

/** Creates a persistent, members-only group whose members see each other's addresses. */
export const createGroup = async (
  tools: GroupDeps,
  group: { readonly name: string; readonly description: string | null; readonly participants: readonly string[] },
): Promise<ServiceResult<ChatGroupCreation>> => {
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
    return outcomeOf(configured).outcome === 'refused'
      ? { outcome: 'refused', reason: configured.reason }
      : { outcome: 'unknown', reason: configured.reason }
  }
  const room = rooms.get(id)
  if (room) {
    room.name = group.name
    room.members = new Set([wire.self])
  }
  const participants: ChatParticipant[] = []
  for (const number of group.participants) participants.push(await addMember(tools, id, number))
  return { outcome: 'done', value: { id, participants } }
}

export const listGroups = async (tools: GroupDeps): Promise<ServiceResult<readonly ChatGroup[]>> => {
  const groups: ChatGroup[] = []
  for (const room of tools.rooms.all()) {
    if (!room.isJoined) continue
    const info = await infoOf(tools.wire, room.jid)
    if (!info) return { outcome: 'later', seconds: 5, reason: 'the group did not answer' }
    room.name = elements(info.query, 'identity')[0]?.attrs.name ?? room.name
    const description = fieldsIn(info.query).get('muc#roominfo_description') || null
    const members = await membersOf(tools, room.jid)
    groups.push({ id: room.jid, name: room.name ?? '', description, readOnly: !room.canSpeak, members })
  }
  return { outcome: 'done', value: groups }
}

const affiliationAfter = { remove: 'none', promote: 'admin', demote: 'member' } as const

const changeAffiliation = async (
  { wire, addresses, rooms }: GroupDeps,
  room: string,
  act: keyof typeof affiliationAfter,
  number: string,
): Promise<ChatParticipant> => {
  const jid = addresses.jidOf(number)
  const members = rooms.get(room)?.members
  if (members && !members.has(jid)) return { number, code: 404, message: 'not in the group', invited: false }
  const answer = await affiliate(wire, room, jid, affiliationAfter[act])
  if (answer.outcome !== 'result') {
    return { number, code: answer.outcome === 'error' ? 403 : 500, message: answer.reason, invited: false }
  }
  if (act === 'remove') members?.delete(jid)
  return { number, code: 200, message: 'done', invited: false }
}

const pictureOf = (image: Buffer | null): XmlElement =>
  xml(
    'vCard',
    ns.vcardTemp,
    {},
    image && xml('PHOTO', ns.vcardTemp, {}, xml('BINVAL', ns.vcardTemp, {}, image.toString('base64'))),
  )

export const changeGroup = async (
  tools: GroupDeps,
  room: string,
  change: ChatGroupChange,
): Promise<ServiceResult<readonly ChatParticipant[]>> => {
  const { wire } = tools
  if (!tools.rooms.get(room)?.isJoined) return { outcome: 'refused', reason: 'the number is not in the group' }
  if (change.act === 'description' || change.act === 'picture') {
    const answer =
      change.act === 'description'
        ? await configure(wire, room, { 'muc#roomconfig_roomdesc': change.text })
        : await wire.request(xml('iq', '', { type: 'set', to: room }, pictureOf(change.image)))
    const outcome = outcomeOf(answer)
    return outcome.outcome === 'done' ? { outcome: 'done', value: [] } : outcome
  }
  if (!tools.rooms.get(room)?.members) await membersOf(tools, room)
  const participants: ChatParticipant[] = []
  for (const number of change.numbers) {
    participants.push(
      change.act === 'add'
        ? await addMember(tools, room, number)
        : await changeAffiliation(tools, room, change.act, number),
    )
  }
  return { outcome: 'done', value: participants }
}

/** Loads the members of a group, so that later changes can be detected. */
export const loadMembers = async (tools: GroupDeps, jid: string): Promise<void> => {
  await membersOf(tools, jid)
}
