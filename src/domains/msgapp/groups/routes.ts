import type { FastifyRequest } from 'fastify'
import type { Db, Sql } from '../../../platform/db/sql.ts'
import { type HandlerInput, ok, route, routeHotPath, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, optionalPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { ChatCapability, ChatGroupChange, ChatParticipant } from '../../../ports/chat.ts'
import type { Services } from '../../../services.ts'
import { type NarrowingCall, narrowingOf } from '../../inbox/narrowing/ops.ts'
import { type Channel, channelOf, channelOfNumber, requireConnected } from '../channels/ops.ts'
import { groupOperationWaitMs } from '../limits.ts'
import { isHiddenGroup } from '../messages/narrowing.ts'
import { type Answer, requestIdOf, requestOnce, requestOperation, waitForAnswer } from '../operations/requests.ts'
import { checkPictureUrl } from '../pictures/ops.ts'
import { type PictureRequest, pictureKey, pictureOperation } from '../pictures/picture-operation.ts'
import { refusals } from '../refusals.ts'
import { abilitiesOf } from '../runner/drivers.ts'
import * as c from './contract.ts'
import { changeOperation, createOperation, type GroupChange, type GroupCreation } from './group-operations.ts'
import { presentGroups, presentMember } from './group-presenter.ts'
import * as store from './store.ts'

const cursors = cursorsOf(c.listGroups)

/** Finds a group that a reader may see. @throws Problem 404 */
const groupOf = async (db: Sql, call: NarrowingCall, printed: string): Promise<store.GroupRow> => {
  const id = parse('WAG', printed)
  const row = id && (await store.find(db, call.account.id, id))
  if (!row || (await isHiddenGroup(db, await narrowingOf(db, call), row.id))) throw refusals.unknownGroup(printed)
  return row
}

const demand = async (db: Sql, connection: string, ability: ChatCapability) =>
  (await abilitiesOf(db, connection)).require(ability)

/**
 * Requests an operation and waits for it.
 * @throws the Problem of its result
 */
const perform = async <V>(
  db: Db,
  { account, connection, id: channel }: Channel,
  act: string,
  payload: GroupCreation | GroupChange,
  request: FastifyRequest,
): Promise<V> => {
  const { 'idempotency-key': key } = request.headers
  const id = typeof key === 'string' ? requestIdOf(account, key, act, { ...payload, channel }) : uuid()
  const groupBody = {
    account,
    connection,
    channel,
    act,
    key: channel,
    payload: { ...payload },
    milliseconds: groupOperationWaitMs,
    id,
  }
  await db.begin((tx) => requestOnce(tx, groupBody))
  const answer: Answer<V> | null = await waitForAnswer<V>(db, id, groupOperationWaitMs + 1_000)
  if (answer?.outcome === 'done') return answer.value
  if (answer?.outcome === 'refused') throw refusals.refusedByNetwork(answer.reason)
  const why = answer && 'reason' in answer ? answer.reason : 'the network did not answer in time'
  throw refusals.resultUnknown(why)
}

const shownOne = async (db: Sql, account: string, id: string) => {
  const row = (await store.find(db, account, id)) ?? refuse(refusals.groupDeleted())
  const [group] = await presentGroups(db, account, [row])
  return group ?? refuse(refusals.groupDeleted())
}

const changed = async (
  db: Db,
  row: store.GroupRow,
  change: Exclude<ChatGroupChange, { act: 'picture' }>,
  request: FastifyRequest,
) => {
  const channel = await channelOf(db, row.account_id, print('WPN', row.channel_id))
  await demand(db, channel.connection, 'group_changes')
  requireConnected(channel)
  const { id: group, network_id: networkId } = row
  if (networkId === null) throw refusals.groupNotCreated()
  return await perform<readonly ChatParticipant[]>(db, channel, changeOperation, { group, networkId, change }, request)
}

export const groupRoutes = ({ db, outbound }: Services) => {
  const members =
    (act: 'add' | 'remove' | 'promote' | 'demote') =>
    async ({ params, body, ...call }: HandlerInput<typeof c.addParticipant>) => {
      const { account, request } = call
      const row = await groupOf(db, call, params.group_uuid)
      const numbers = [...new Set(body.participants.map(phoneNumber))]
      const outcome = await changed(db, row, { act, numbers }, request)
      const group = await shownOne(db, account.id, row.id)
      const participants = outcome.map(({ number, code, message, invited }) => [
        number,
        group.participants[number] && code === 200
          ? { ...group.participants[number], statusCode: code, message }
          : presentMember({ status_code: code, message, is_admin: false, is_creator: false, invited }),
      ])
      return ok({ group, participants: Object.fromEntries(participants) })
    }

  return [
    routeHotPath(c.createGroup, async ({ account, body: { from_number, group }, request }) => {
      const channel = await channelOfNumber(db, account.id, phoneNumber(from_number))
      const participants = [...new Set(group.participants.map(phoneNumber))].filter((one) => one !== channel.number)
      if (participants.length === 0) throw refusals.noOtherParticipant()
      await demand(db, channel.connection, 'groups')
      requireConnected(channel)
      const { name, description = null } = group
      const id = await perform<string>(
        db,
        channel,
        createOperation,
        { number: channel.number, name, description, participants },
        request,
      )
      const created = await shownOne(db, account.id, id)
      const isIn = (number: string) => created.participants[number]?.statusCode === 200
      return ok({
        group: created,
        accepted_numbers: participants.filter(isIn),
        unaccepted_numbers: participants.filter((number) => !isIn(number)),
      })
    }),

    route(c.listGroups, async ({ params, query, ...call }) => {
      const { account } = call
      const narrowing = await narrowingOf(db, call)
      const channel = await channelOfNumber(db, account.id, phoneNumber(params.number))
      const after = cursors.read(query.cursor)
      const pageRequest = optionalPage(query, after && [after.id])
      const found = await store.page(db, account.id, channel.id, narrowing, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      const total =
        pageRequest.limit === null
          ? { total: found.length }
          : totalFields(await store.total(db, account.id, channel.id, narrowing))
      return ok({ data: await presentGroups(db, account.id, rows), ...fields, ...total })
    }),

    route(c.getGroup, async ({ params, ...call }) => {
      const group = await shownOne(db, call.account.id, (await groupOf(db, call, params.group_uuid)).id)
      return ok({ group, data: group })
    }),

    routeHotPath(c.addParticipant, members('add')),
    routeHotPath(c.removeParticipant, members('remove')),
    routeHotPath(c.promoteParticipant, members('promote')),
    routeHotPath(c.demoteParticipant, members('demote')),

    routeHotPath(c.setGroupDescription, async ({ params, body, ...call }) => {
      const row = await groupOf(db, call, params.group_uuid)
      await changed(db, row, { act: 'description', text: body.description }, call.request)
      return ok({ group: await shownOne(db, call.account.id, row.id) })
    }),

    routeWithPreparation(
      c.setGroupPicture,
      async ({ params, body, ...call }) => {
        const row = await groupOf(db, call, params.group_uuid)
        await demand(db, row.connection_id, 'group_changes')
        await checkPictureUrl(outbound.of(call.request.isSandbox), body.url)
        return row
      },
      async ({ body: { url }, tx, prepared: row }) => {
        const { account_id: account, connection_id: connection, channel_id: channel, network_id: group } = row
        const payload: PictureRequest = { url, group }
        await requestOperation(tx, {
          account,
          connection,
          channel,
          act: pictureOperation,
          key: pictureKey(row.id),
          payload: { ...payload },
        })
        return ok({ batched: true })
      },
    ),
  ]
}
