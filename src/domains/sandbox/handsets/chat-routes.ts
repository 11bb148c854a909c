import type { Db } from '../../../platform/db/sql.ts'
import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { channelOf, makeOwnerOf } from '../../msgapp/channels/ops.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import * as c from './chat-contract.ts'
import { importFile } from './file-import.ts'

type Content = {
  readonly to?: string
  readonly group_uuid?: string
  readonly text?: string
  readonly url?: string
  readonly pin?: object
}

const checkContent = ({ to, group_uuid, text, url, pin }: Content): void => {
  if (to === undefined && group_uuid === undefined) throw refusals.noRecipient()
  if (!text && !url && !pin) throw refusals.noContent()
}

const groupOf = async (db: Db, account: string, printed: string): Promise<string> => {
  const id = parse('WAG', printed)
  return (id && (await store.groupOnNetwork(db, account, id))) || refuse(refusals.unknownGroup(printed))
}

const messageOf = async (db: Db, account: string, printed: string): Promise<string> => {
  const id = parse('MSG', printed)
  return (id && (await store.networkIdOf(db, account, id))) || refuse(refusals.unknownMessage(printed))
}

const contentOf = async ({ simulator, outbound }: Services, { text, url, pin }: Content) => {
  const file = url && (await importFile(outbound.of(true), simulator, url))
  return { text, url, file, pin }
}

/** Actions of sandbox handsets. */
const handsetRoutes = (parts: Services) => {
  const { db, simulator, chat } = parts
  const ownerOf = makeOwnerOf(db)
  const lineOf = async (account: string, value: string): Promise<string> =>
    (await chat.senders.of(account, phoneNumber(value))).number

  /** A handset can never write as a number of the platform. */
  const handsetOf = async (value: string): Promise<string> => {
    const number = phoneNumber(value)
    return (await ownerOf(number)) === null ? number : refuse(refusals.notAHandset(number))
  }

  return [
    routeWithoutTransaction(c.writeFromHandset, async ({ account, params, body }) => {
      checkContent(body)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined
          ? { to: await lineOf(account.id, to ?? '') }
          : { group: await groupOf(db, account.id, group_uuid) }
      const number = await handsetOf(params.number)
      const written = await simulator.chatAction(number, 'msgapp', { ...peer, ...(await contentOf(parts, body)) })
      return written ? ok({}) : refuse(refusals.noReceiver())
    }),

    routeWithoutTransaction(c.readFromHandset, async ({ account, params, body }) => {
      const from = await lineOf(account.id, body.from)
      const done = await simulator.chatAction(await handsetOf(params.number), 'read', { from })
      return ok({ read: done?.read ?? 0 })
    }),

    routeWithoutTransaction(c.callFromHandsetInApp, async ({ account, params, body }) => {
      const to = await lineOf(account.id, body.to)
      const called = await simulator.chatAction(await handsetOf(params.number), 'msgapp-calls', {
        to,
        video: body.video,
      })
      return called ? ok({}) : refuse(refusals.notOnNetwork(to))
    }),

    routeWithoutTransaction(c.editFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(db, account.id, body.message_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'edit', { id, text: body.text })
      return done ? ok({}) : refuse(refusals.messageNotWritten())
    }),

    routeWithoutTransaction(c.reactFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(db, account.id, body.message_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'react', { id, emoji: body.emoji })
      return done ? ok({}) : refuse(refusals.messageNotReceived())
    }),

    routeWithoutTransaction(c.leaveFromHandset, async ({ account, params, body }) => {
      const group = await groupOf(db, account.id, body.group_uuid)
      const { removed } = body
      const done = await simulator.chatAction(await handsetOf(params.number), 'leave', { group, removed })
      return done ? ok({}) : refuse(refusals.notInGroup())
    }),

    routeWithoutTransaction(c.joinFromHandset, async ({ account, params, body }) => {
      const group = await groupOf(db, account.id, body.group_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'enter', { group })
      return done ? ok({}) : refuse(refusals.cannotJoin())
    }),
  ]
}

/** Actions of the phones of channels. */
const phoneRoutes = (parts: Services) => {
  const { db, simulator } = parts
  return [
    routeWithoutTransaction(c.pairChannel, async ({ account, params }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      return (await simulator.chatAction(number, 'pair', {})) ? ok({}) : refuse(refusals.noPairingCode(number))
    }),

    routeWithoutTransaction(c.writeFromPhone, async ({ account, params, body }) => {
      checkContent(body)
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined ? { to: phoneNumber(to ?? '') } : { group: await groupOf(db, account.id, group_uuid) }
      const written = await simulator.chatAction(number, 'phone-writes', { ...peer, ...(await contentOf(parts, body)) })
      return written ? ok({}) : refuse(refusals.recipientUnreachable(number))
    }),

    routeWithoutTransaction(c.callFromPhone, async ({ account, params, body }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const to = phoneNumber(body.to)
      const called = await simulator.chatAction(number, 'phone-calls', { to, video: body.video })
      return called ? ok({}) : refuse(refusals.numberUnreachable(number, to))
    }),
  ]
}

/**
 * Messaging-app actions of sandbox handsets and of channels' phones, limited to channels, groups and messages of the
 * account.
 */
export const chatSandboxRoutes = (parts: Services) => [...handsetRoutes(parts), ...phoneRoutes(parts)]
