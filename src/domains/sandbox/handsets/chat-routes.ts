import { ok, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { invalid, notFound } from '../../../platform/http/problem.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { parse } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { channelOf, makeOwnerOf } from '../../msgapp/channels/ops.ts'
import * as store from '../store.ts'
import * as c from './chat-contract.ts'
import { importFile } from './file-import.ts'
import { rejectNonHandset } from './handset.ts'

type Content = {
  readonly to?: string
  readonly group_uuid?: string
  readonly text?: string
  readonly url?: string
  readonly pin?: object
}

const checkContent = ({ to, group_uuid, text, url, pin }: Content): void => {
  if (to === undefined && group_uuid === undefined) invalid('to or group_uuid is required')
  if (!text && !url && !pin) invalid('At least one of text, url and pin is required')
}

/**
 * Messaging-app actions of sandbox handsets and of channels' phones, limited to channels, groups and messages of the
 * account.
 */
export const chatSandboxRoutes = ({ db, simulator, outbound, chat: { senders } }: Services) => {
  const ownerOf = makeOwnerOf(db)
  const lineOf = async (account: string, given: string): Promise<string> =>
    (await senders.of(account, phoneNumber(given))).number

  /** A handset can never write as a number of the platform. */
  const handsetOf = async (given: string): Promise<string> => {
    const number = phoneNumber(given)
    return (await ownerOf(number)) === null ? number : rejectNonHandset(number)
  }

  const groupOf = async (account: string, printed: string): Promise<string> => {
    const id = parse('WAG', printed)
    return (id && (await store.groupOnNetwork(db, account, id))) || notFound(`There is no group ${printed}`)
  }

  const messageOf = async (account: string, printed: string): Promise<string> => {
    const id = parse('MSG', printed)
    return (id && (await store.networkIdOf(db, account, id))) || notFound(`There is no message ${printed}`)
  }

  const contentOf = async ({ text, url, pin }: Content) => {
    const file = url && (await importFile(outbound.of(true), simulator, url))
    return { text, url, file, pin }
  }

  return [
    routeWithoutTransaction(c.writeFromHandset, async ({ account, params, body }) => {
      checkContent(body)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined
          ? { to: await lineOf(account.id, to ?? '') }
          : { group: await groupOf(account.id, group_uuid) }
      const number = await handsetOf(params.number)
      const written = await simulator.chatAction(number, 'msgapp', { ...peer, ...(await contentOf(body)) })
      return written ? ok({}) : notFound('No number of the platform can receive it')
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
      return called ? ok({}) : notFound(`${to} is not on the network`)
    }),

    routeWithoutTransaction(c.editFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(account.id, body.message_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'edit', { id, text: body.text })
      return done ? ok({}) : notFound('The handset wrote no such message')
    }),

    routeWithoutTransaction(c.reactFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(account.id, body.message_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'react', { id, emoji: body.emoji })
      return done ? ok({}) : notFound('The handset has no such message')
    }),

    routeWithoutTransaction(c.leaveFromHandset, async ({ account, params, body }) => {
      const group = await groupOf(account.id, body.group_uuid)
      const { removed } = body
      const done = await simulator.chatAction(await handsetOf(params.number), 'leave', { group, removed })
      return done ? ok({}) : notFound('The handset is in no such group')
    }),

    routeWithoutTransaction(c.joinFromHandset, async ({ account, params, body }) => {
      const group = await groupOf(account.id, body.group_uuid)
      const done = await simulator.chatAction(await handsetOf(params.number), 'enter', { group })
      return done ? ok({}) : notFound('The handset is already in the group, or is not on the messaging app')
    }),

    routeWithoutTransaction(c.pairChannel, async ({ account, params }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      return (await simulator.chatAction(number, 'pair', {})) ? ok({}) : notFound(`${number} shows no code`)
    }),

    routeWithoutTransaction(c.writeFromPhone, async ({ account, params, body }) => {
      checkContent(body)
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined ? { to: phoneNumber(to ?? '') } : { group: await groupOf(account.id, group_uuid) }
      const written = await simulator.chatAction(number, 'phone-writes', { ...peer, ...(await contentOf(body)) })
      return written ? ok({}) : notFound(`${number} cannot reach the recipient`)
    }),

    routeWithoutTransaction(c.callFromPhone, async ({ account, params, body }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const to = phoneNumber(body.to)
      const called = await simulator.chatAction(number, 'phone-calls', { to, video: body.video })
      return called ? ok({}) : notFound(`${number} cannot reach ${to}`)
    }),
  ]
}
