import type { FastifyRequest } from 'fastify'
import type { ChatAbility, ChatGroupChange, ChatParticipant } from '../../connectors/chat-port.ts'
import { type Call, ok, serve, serveAfter, serveFast } from '../../http/endpoint.ts'
import { invalid, notFound, Problem, unprocessable } from '../../http/problem.ts'
import { isPaged, pageOf } from '../../http/schema.ts'
import { phoneNumber } from '../../http/validation.ts'
import { parse, print, uuid } from '../../lib/id.ts'
import type { Parts } from '../../parts.ts'
import { type Answer, answered, ask, askOnce, idOf } from '../asking.ts'
import { type Channel, channelOf, channelOfNumber, demandConnected } from '../channels/ops.ts'
import { ableOf } from '../drivers.ts'
import { type PictureAsked, pictureAct, pictureKey } from '../pictures/act.ts'
import { judgePicture } from '../pictures/ops.ts'
import { type Change, type Creation, changeAct, createAct } from './acts.ts'
import * as c from './contract.ts'
import { shownGroups, shownMember } from './shown.ts'
import * as store from './store.ts'

/** How long a network may take over a group while its client waits. */
const patienceMs = 20_000

const later = (message: string, code: string, seconds: number): never => {
  throw new Problem('conflict', message, code, { 'retry-after': String(seconds) })
}

export const groupRoutes = ({ db, outbound }: Parts) => {
  const groupOf = async (account: string, printed: string): Promise<store.GroupRow> => {
    const id = parse('WAG', printed)
    return (id && (await store.find(db, account, id))) || notFound(`No group ${printed}`)
  }

  const demand = async (connection: string, ability: ChatAbility) => (await ableOf(db, connection)).demand(ability)

  /** Asks the network and waits. @throws the Problem of what came of it */
  const asked = async <V>(
    { account, connection, id: channel }: Channel,
    act: string,
    payload: Creation | Change,
    request: FastifyRequest,
  ): Promise<V> => {
    const { 'idempotency-key': key } = request.headers
    const id = typeof key === 'string' ? idOf(account, key, act, { ...payload, channel }) : uuid()
    const wish = {
      account,
      connection,
      channel,
      act,
      key: channel,
      payload: { ...payload },
      milliseconds: patienceMs,
      id,
    }
    await db.begin((tx) => askOnce(tx, wish))
    const said: Answer<V> | null = await answered<V>(db, id, patienceMs + 1_000)
    if (said?.outcome === 'done') return said.value
    if (said?.outcome === 'refused') return unprocessable(`The network refused: ${said.reason}`, 'refused_by_network')
    const why = said && 'reason' in said ? said.reason : 'the network did not answer in time'
    return later(`It is not known whether it was done: ${why}`, 'channel_busy', 30)
  }

  const shownOne = async (account: string, id: string) => {
    const row = (await store.find(db, account, id)) ?? notFound('The group is gone')
    const [group] = await shownGroups(db, account, [row])
    return group ?? notFound('The group is gone')
  }

  const changed = async (
    row: store.GroupRow,
    change: Exclude<ChatGroupChange, { act: 'picture' }>,
    request: FastifyRequest,
  ) => {
    const channel = await channelOf(db, row.account_id, print('WPN', row.channel_id))
    await demand(channel.connection, 'group_changes')
    demandConnected(channel)
    const { id: group, network_id: networkId } = row
    if (networkId === null) return later('The group is not made yet', 'group_pending', 5)
    return await asked<readonly ChatParticipant[]>(channel, changeAct, { group, networkId, change }, request)
  }

  const members =
    (act: 'add' | 'remove' | 'promote' | 'demote') =>
    async ({ account, params, body, request }: Call<typeof c.addParticipant>) => {
      const row = await groupOf(account.id, params.group_uuid)
      const numbers = [...new Set(body.participants.map(phoneNumber))]
      const told = await changed(row, { act, numbers }, request)
      const group = await shownOne(account.id, row.id)
      const participants = told.map(({ number, code, message, invited }) => [
        number,
        group.participants[number] && code === 200
          ? { ...group.participants[number], statusCode: code, message }
          : shownMember({ status_code: code, message, is_admin: false, is_creator: false, invited }),
      ])
      return ok({ group, participants: Object.fromEntries(participants) })
    }

  return [
    serveFast(c.createGroup, async ({ account, body: { from_number, group }, request }) => {
      const channel = await channelOfNumber(db, account.id, phoneNumber(from_number))
      const participants = [...new Set(group.participants.map(phoneNumber))].filter((one) => one !== channel.number)
      if (participants.length === 0) invalid('group.participants must name somebody else than from_number')
      await demand(channel.connection, 'groups')
      demandConnected(channel)
      const { name, description = null } = group
      const id = await asked<string>(
        channel,
        createAct,
        { number: channel.number, name, description, participants },
        request,
      )
      const made = await shownOne(account.id, id)
      const isIn = (number: string) => made.participants[number]?.statusCode === 200
      return ok({
        group: made,
        accepted_numbers: participants.filter(isIn),
        unaccepted_numbers: participants.filter((number) => !isIn(number)),
      })
    }),

    serve(c.listGroups, async ({ account, params, query }) => {
      const channel = await channelOfNumber(db, account.id, phoneNumber(params.number))
      const { page, limit, offset } = pageOf(query)
      const part = isPaged(query) ? { limit, offset } : { limit: null, offset: 0 }
      const rows = await store.list(db, account.id, channel.id, part)
      const total = isPaged(query) ? await store.total(db, account.id, channel.id) : rows.length
      return ok({ data: await shownGroups(db, account.id, rows), count: rows.length, page, total })
    }),

    serve(c.getGroup, async ({ account, params }) => {
      const group = await shownOne(account.id, (await groupOf(account.id, params.group_uuid)).id)
      return ok({ group, data: group })
    }),

    serveFast(c.addParticipant, members('add')),
    serveFast(c.removeParticipant, members('remove')),
    serveFast(c.promoteParticipant, members('promote')),
    serveFast(c.demoteParticipant, members('demote')),

    serveFast(c.setGroupDescription, async ({ account, params, body, request }) => {
      const row = await groupOf(account.id, params.group_uuid)
      await changed(row, { act: 'description', text: body.description }, request)
      return ok({ group: await shownOne(account.id, row.id) })
    }),

    serveAfter(
      c.setGroupPicture,
      async ({ account, params, body, request }) => {
        const row = await groupOf(account.id, params.group_uuid)
        await demand(row.connection_id, 'group_changes')
        await judgePicture(outbound.of(request.isSandbox), body.url)
        return row
      },
      async ({ body: { url }, tx, prepared: row }) => {
        const { account_id: account, connection_id: connection, channel_id: channel, network_id: group } = row
        const payload: PictureAsked = { url, group }
        await ask(tx, {
          account,
          connection,
          channel,
          act: pictureAct,
          key: pictureKey(row.id),
          payload: { ...payload },
        })
        return ok({ batched: true })
      },
    ),
  ]
}
