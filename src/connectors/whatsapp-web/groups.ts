import type { ChatGroup, ChatGroupChange, ChatGroupMade, ChatNetwork, ChatParticipant } from '../chat-port.ts'
import type { Asked } from '../port.ts'
import { asked } from './asked.ts'
import { bareOf, jidOf, numberOf } from './codec/jid.ts'
import type { GroupData, Node, ParticipantsUpdate, Socket } from './library.ts'
import type { People } from './people.ts'
import { locate } from './places.ts'
import { setPicture } from './profile.ts'

const messages: { readonly [code: number]: string } = {
  200: 'added',
  403: 'allows to be added by contacts only',
  404: 'not on the network',
  408: 'left the group a short while ago',
  409: 'in the group already',
  500: 'the network does not say what became of it',
}

const participant = (number: string, code: number, invited = false): ChatParticipant => ({
  number,
  code,
  message: invited ? 'invited' : (messages[code] ?? `the network says ${code}`),
  invited,
})

const childOf = (node: Node | undefined, tag: string): Node | undefined =>
  Array.isArray(node?.content) ? node.content.find((one: Node) => one.tag === tag) : undefined

/** Whoever may not be added gets an invitation, which the network hands out with its refusal. */
const invite = async (socket: Socket, group: { id: string; name: string }, jid: string, told: Node) => {
  const { code, expiration } = childOf(told, 'add_request')?.attrs ?? {}
  if (!code || !expiration) return false
  const { id, name } = group
  const message = { inviteCode: code, inviteExpiration: Number(expiration), jid: id, subject: name, text: name }
  await socket.sendMessage(jid, { groupInvite: message }, { getProfilePicUrl: null })
  return true
}

const add = async (
  socket: Socket,
  group: { id: string; name: string },
  places: ReadonlyMap<string, string>,
): Promise<ChatParticipant[]> => {
  if (places.size === 0) return []
  const told: ParticipantsUpdate = await socket.groupParticipantsUpdate(group.id, [...places.values()], 'add')
  const outcomes = [...places].map(async ([number, jid]) => {
    const one = told.find(
      ({ jid: of, content }) => bareOf(of ?? '') === bareOf(jid) || content.attrs.phone_number === jid,
    )
    const code = Number(one?.status ?? 500)
    const isInvited =
      code === 403 && one !== undefined && (await invite(socket, group, jid, one.content).catch(() => false))
    return participant(number, code, isInvited)
  })
  return Promise.all(outcomes)
}

/** The number of a member as the network writes it, where it tells that. */
export const numberOfMember = ({ id, phoneNumber }: GroupData['participants'][number]): string | null =>
  numberOf(id) ?? (phoneNumber ? numberOf(phoneNumber) : null)

/** The numbers of a request that are on the network, and those that are not. */
const sorted = async (socket: Socket, people: People, numbers: readonly string[]) => {
  const places = await locate(socket, numbers)
  people.found(places)
  const there = new Map([...places].flatMap(([number, jid]) => (jid === null ? [] : [[number, jid] as const])))
  return { there, absent: numbers.filter((number) => !there.has(number)) }
}

export const createGroup = (
  socket: Socket,
  people: People,
  { name, description, participants }: Parameters<NonNullable<ChatNetwork['createGroup']>>[1],
): Promise<Asked<ChatGroupMade>> =>
  asked(async () => {
    const { there, absent } = await sorted(socket, people, participants)
    const made = await socket.groupCreate(name, [...there.values()])
    if (description) await socket.groupUpdateDescription(made.id, description).catch(() => {})
    const members = new Set(made.participants.map(numberOfMember))
    // The answer leaves out whom the network did not add; why is told when they are added one by one.
    const missing = new Map([...there].filter(([number, jid]) => !members.has(number) && !members.has(numberOf(jid))))
    // The group is there whatever becomes of these: asked for again, it would be made a second time.
    const later = await add(socket, { id: made.id, name }, missing).catch(() =>
      [...missing.keys()].map((number) => participant(number, 500)),
    )
    const codes = new Map(
      [...later, ...absent.map((number) => participant(number, 404))].map((one) => [one.number, one]),
    )
    return { id: made.id, participants: participants.map((number) => codes.get(number) ?? participant(number, 200)) }
  })

const groupOf = async (
  { id, subject, desc, announce, owner, ownerPn, participants }: GroupData,
  people: People,
): Promise<ChatGroup> => {
  const written = participants.map(numberOfMember)
  const names = await people.asAsked(written.filter((number) => number !== null))
  return {
    id,
    name: subject ?? '',
    description: desc ?? null,
    readOnly: announce === true,
    members: participants.map((member, place) => ({
      number: names.get(written[place] ?? '') ?? null,
      remote: bareOf(member.id),
      pushname: null,
      admin: member.admin === 'admin' || member.admin === 'superadmin',
      creator: [owner, ownerPn].some((one) => one !== undefined && bareOf(one) === bareOf(member.id)),
    })),
  }
}

export const listGroups = (socket: Socket, people: People): Promise<Asked<readonly ChatGroup[]>> =>
  asked(async () => {
    const groups = Object.values(await socket.groupFetchAllParticipating())
    return Promise.all(groups.map((group) => groupOf(group, people)))
  }, true)

export const changeGroup = async (
  socket: Socket,
  people: People,
  group: string,
  change: ChatGroupChange,
): Promise<Asked<readonly ChatParticipant[]>> => {
  switch (change.act) {
    case 'description':
      return asked(async () => {
        await socket.groupUpdateDescription(group, change.text || undefined)
        return []
      }, true)
    case 'picture':
      return setPicture(socket, change.image, group).then((told) =>
        told.outcome === 'done' ? { outcome: 'done', value: [] } : told,
      )
    case 'add':
      return asked(async () => {
        const { there, absent } = await sorted(socket, people, change.numbers)
        const added = await add(socket, { id: group, name: 'Group' }, there)
        return [...added, ...absent.map((number) => participant(number, 404))]
      })
    default:
      return asked(async () => {
        const { there } = await sorted(socket, people, change.numbers)
        const jids = change.numbers.map((number) => there.get(number) ?? jidOf(number))
        const told = await socket.groupParticipantsUpdate(group, jids, change.act)
        return change.numbers.map((number, place) => {
          const one = told.find(({ jid, content }) => [jid, content.attrs.phone_number].includes(jids[place] ?? ''))
          const code = Number(one?.status ?? 404)
          return {
            ...participant(number, code),
            message: code === 200 ? 'done' : (messages[code] ?? `the network says ${code}`),
          }
        })
      }, true)
  }
}
