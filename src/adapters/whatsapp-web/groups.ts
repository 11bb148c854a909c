import type { ChatGroup, ChatGroupChange, ChatGroupCreation, ChatNetwork, ChatParticipant } from '../../ports/chat.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { bareOf, isLid, jidOf, numberOf } from './codec/jid.ts'
import { lookUpJids } from './jid-lookup.ts'
import type { BinaryNode, GroupData, ParticipantsUpdate, WASocket } from './library.ts'
import { type NumberAliases, numberOfLid } from './number-aliases.ts'
import { setPicture } from './profile.ts'
import { requestOutcome } from './request-outcome.ts'

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

const childOf = (node: BinaryNode | undefined, tag: string): BinaryNode | undefined =>
  Array.isArray(node?.content) ? node.content.find((one: BinaryNode) => one.tag === tag) : undefined

/** Sends an invitation to a person who may not be added; the network includes its code in the refusal. */
const invite = async (socket: WASocket, group: { id: string; name: string }, jid: string, response: BinaryNode) => {
  const { code, expiration } = childOf(response, 'add_request')?.attrs ?? {}
  if (!code || !expiration) return false
  const { id, name } = group
  const message = { inviteCode: code, inviteExpiration: Number(expiration), jid: id, subject: name, text: name }
  await socket.sendMessage(jid, { groupInvite: message }, { getProfilePicUrl: null })
  return true
}

const add = async (
  socket: WASocket,
  group: { id: string; name: string },
  places: ReadonlyMap<string, string>,
): Promise<ChatParticipant[]> => {
  if (places.size === 0) return []
  const update: ParticipantsUpdate = await socket.groupParticipantsUpdate(group.id, [...places.values()], 'add')
  const outcomes = [...places].map(async ([number, jid]) => {
    const one = update.find(
      ({ jid: of, content }) => bareOf(of ?? '') === bareOf(jid) || content.attrs.phone_number === jid,
    )
    const code = Number(one?.status ?? 500)
    const isInvited =
      code === 403 && one !== undefined && (await invite(socket, group, jid, one.content).catch(() => false))
    return participant(number, code, isInvited)
  })
  return Promise.all(outcomes)
}

/** The number of a member as the network writes it, or null when hidden. */
export const numberOfMember = ({ id, phoneNumber }: GroupData['participants'][number]): string | null =>
  numberOf(id) ?? (phoneNumber ? numberOf(phoneNumber) : null)

/** Splits requested numbers into those on the network and those absent. */
const partitionNumbers = async (socket: WASocket, people: NumberAliases, numbers: readonly string[]) => {
  const places = await lookUpJids(socket, numbers)
  people.recordLookup(places)
  const present = new Map([...places].flatMap(([number, jid]) => (jid === null ? [] : [[number, jid] as const])))
  return { present, absent: numbers.filter((number) => !present.has(number)) }
}

export const createGroup = (
  socket: WASocket,
  people: NumberAliases,
  { name, description, participants }: Parameters<NonNullable<ChatNetwork['createGroup']>>[1],
): Promise<ServiceResult<ChatGroupCreation>> =>
  requestOutcome(async () => {
    const { present, absent } = await partitionNumbers(socket, people, participants)
    const created = await socket.groupCreate(name, [...present.values()])
    if (description) await socket.groupUpdateDescription(created.id, description).catch(() => {})
    const members = new Set(created.participants.map(numberOfMember))
    // The response omits members that the network did not add; adding them one by one reveals the reason.
    const missing = new Map([...present].filter(([number, jid]) => !members.has(number) && !members.has(numberOf(jid))))
    // The group exists whatever the result: a retry would create a second one.
    const later = await add(socket, { id: created.id, name }, missing).catch(() =>
      [...missing.keys()].map((number) => participant(number, 500)),
    )
    const codes = new Map(
      [...later, ...absent.map((number) => participant(number, 404))].map((one) => [one.number, one]),
    )
    return { id: created.id, participants: participants.map((number) => codes.get(number) ?? participant(number, 200)) }
  })

const groupOf = async (
  socket: WASocket,
  people: NumberAliases,
  { id, subject, desc, announce, owner, ownerPn, participants }: GroupData,
): Promise<ChatGroup> => {
  const written = await Promise.all(
    participants.map(
      async (member) => numberOfMember(member) ?? (isLid(member.id) ? numberOfLid(socket, bareOf(member.id)) : null),
    ),
  )
  const names = await people.requestedNumbers(written.filter((number) => number !== null))
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

export const listGroups = (socket: WASocket, people: NumberAliases): Promise<ServiceResult<readonly ChatGroup[]>> =>
  requestOutcome(async () => {
    const groups = Object.values(await socket.groupFetchAllParticipating())
    return Promise.all(groups.map((group) => groupOf(socket, people, group)))
  }, true)

export const changeGroup = async (
  socket: WASocket,
  people: NumberAliases,
  group: string,
  change: ChatGroupChange,
): Promise<ServiceResult<readonly ChatParticipant[]>> => {
  switch (change.act) {
    case 'description':
      return requestOutcome(async () => {
        await socket.groupUpdateDescription(group, change.text || undefined)
        return []
      }, true)
    case 'picture':
      return setPicture(socket, change.image, group).then((outcome) =>
        outcome.outcome === 'done' ? { outcome: 'done', value: [] } : outcome,
      )
    case 'add':
      return requestOutcome(async () => {
        const { present, absent } = await partitionNumbers(socket, people, change.numbers)
        const added = await add(socket, { id: group, name: 'Group' }, present)
        return [...added, ...absent.map((number) => participant(number, 404))]
      })
    default:
      return requestOutcome(async () => {
        const { present } = await partitionNumbers(socket, people, change.numbers)
        const jids = change.numbers.map((number) => present.get(number) ?? jidOf(number))
        const update = await socket.groupParticipantsUpdate(group, jids, change.act)
        return change.numbers.map((number, place) => {
          const one = update.find(({ jid, content }) => [jid, content.attrs.phone_number].includes(jids[place] ?? ''))
          const code = Number(one?.status ?? 404)
          return {
            ...participant(number, code),
            message: code === 200 ? 'done' : (messages[code] ?? `the network says ${code}`),
          }
        })
      }, true)
  }
}
