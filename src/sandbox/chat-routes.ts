import { ok, serveOutside } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { parse } from '../lib/id.ts'
import { channelOf, channelOfNumber, ownerOf } from '../msgapp/channels/ops.ts'
import type { Parts } from '../parts.ts'
import * as c from './chat-contract.ts'
import { bringFile } from './files.ts'
import { notHandset } from './handset.ts'
import * as store from './store.ts'

type Written = {
  readonly to?: string
  readonly group_uuid?: string
  readonly text?: string
  readonly url?: string
  readonly pin?: object
}

const checkWriting = ({ to, group_uuid, text, url, pin }: Written): void => {
  if (to === undefined && group_uuid === undefined) invalid('to or group_uuid is required')
  if (!text && !url && !pin) invalid('At least one of text, url and pin is required')
}

/** What handsets of the sandbox do on the messaging app, and phones of channels. Only with channels, groups and messages of the account. */
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

  const contentOf = async ({ text, url, pin }: Written) => {
    const file = url && (await bringFile(outbound.of(true), simulator, url))
    return { text, url, file, pin }
  }

  return [
    serveOutside(c.writeFromHandset, async ({ account, params, body }) => {
      checkWriting(body)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined
          ? { to: await lineOf(account.id, to ?? '') }
          : { group: await groupOf(account.id, group_uuid) }
      const number = await handsetOf(params.number)
      const written = await simulator.chat(number, 'msgapp', { ...peer, ...(await contentOf(body)) })
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

    serveOutside(c.writeFromPhone, async ({ account, params, body }) => {
      checkWriting(body)
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const { to, group_uuid } = body
      const peer =
        group_uuid === undefined ? { to: phoneNumber(to ?? '') } : { group: await groupOf(account.id, group_uuid) }
      const written = await simulator.chat(number, 'phone-writes', { ...peer, ...(await contentOf(body)) })
      return written ? ok({}) : notFound(`${number} reaches nobody there`)
    }),

    serveOutside(c.callFromPhone, async ({ account, params, body }) => {
      const { number } = await channelOf(db, account.id, params.channel_uuid)
      const to = phoneNumber(body.to)
      const called = await simulator.chat(number, 'phone-calls', { to, video: body.video })
      return called ? ok({}) : notFound(`${number} does not reach ${to}`)
    }),
  ]
}
