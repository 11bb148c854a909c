import { ok, serveOutside } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { parse } from '../lib/id.ts'
import { channelOf, channelOfNumber, ownerOf } from '../msgapp/channels/ops.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { bringFile } from './files.ts'
import { notHandset } from './handset.ts'
import * as store from './store.ts'

/** What handsets of the sandbox do on the messaging app. Only with channels, groups and messages of the account. */
export const chatSandboxRoutes = ({ db, simulator, outbound }: Parts) => {
  const lineOf = async (account: string, given: string): Promise<string> =>
    (await channelOfNumber(db, account, phoneNumber(given))).number

  /** Nobody writes as a number of the platform, whoever has it. */
  const handsetOf = async (given: string): Promise<string> => {
    const number = phoneNumber(given)
    return (await ownerOf(db, number)) === null ? number : notHandset(number)
  }

  const groupOf = async (account: string, printed: string): Promise<string> => {
    const id = parse('WAG', printed)
    return (id && (await store.groupOnNetwork(db, account, id))) || notFound(`There is no group ${printed}`)
  }

  const messageOf = async (account: string, printed: string): Promise<string> => {
    const id = parse('MSG', printed)
    return (id && (await store.networkIdOf(db, account, id))) || notFound(`There is no message ${printed}`)
  }

  return [
    serveOutside(c.writeFromHandset, async ({ account, params, body }) => {
      const { to, group_uuid, text, url, pin } = body
      if (to === undefined && group_uuid === undefined) invalid('to or group_uuid is required')
      if (!text && !url && !pin) invalid('At least one of text, url and pin is required')
      const peer =
        group_uuid === undefined
          ? { to: await lineOf(account.id, to ?? '') }
          : { group: await groupOf(account.id, group_uuid) }
      const number = await handsetOf(params.number)
      const file = url && (await bringFile(outbound, simulator, url))
      const written = await simulator.chat(number, 'msgapp', { ...peer, text, url, file, pin })
      return written ? ok({}) : notFound('Nobody of the platform is there to read it')
    }),

    serveOutside(c.readFromHandset, async ({ account, params, body }) => {
      const from = await lineOf(account.id, body.from)
      const done = await simulator.chat(await handsetOf(params.number), 'read', { from })
      return ok({ read: done?.read ?? 0 })
    }),

    serveOutside(c.callFromHandsetInApp, async ({ account, params, body }) => {
      const to = await lineOf(account.id, body.to)
      const called = await simulator.chat(await handsetOf(params.number), 'msgapp-calls', { to, video: body.video })
      return called ? ok({}) : notFound(`${to} is not on the network`)
    }),

    serveOutside(c.editFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(account.id, body.message_uuid)
      const done = await simulator.chat(await handsetOf(params.number), 'edit', { id, text: body.text })
      return done ? ok({}) : notFound('The handset wrote no such message')
    }),

    serveOutside(c.reactFromHandset, async ({ account, params, body }) => {
      const id = await messageOf(account.id, body.message_uuid)
      const done = await simulator.chat(await handsetOf(params.number), 'react', { id, emoji: body.emoji })
      return done ? ok({}) : notFound('The handset has no such message')
    }),

    serveOutside(c.leaveFromHandset, async ({ account, params, body }) => {
      const group = await groupOf(account.id, body.group_uuid)
      const done = await simulator.chat(await handsetOf(params.number), 'leave', { group })
      return done ? ok({}) : notFound('The handset is in no such group')
    }),

    serveOutside(c.pairChannel, async ({ account, params }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      return (await simulator.chat(number, 'pair', {})) ? ok({}) : notFound(`${number} shows no code`)
    }),
  ]
}
