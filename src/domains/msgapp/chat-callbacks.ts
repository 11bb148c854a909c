import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { ChatDeps } from '../../ports/chat.ts'
import type { Services } from '../../services.ts'
import { installCallbacks } from '../connections/ops.ts'
import * as store from './channels/store.ts'
import { makeInboundHandlers } from './inbound.ts'
import { type ChannelRef, toEvents } from './inbound-handlers.ts'
import { maxCallbackBytes } from './limits.ts'
import { refusals } from './refusals.ts'
import { makeCredentialStore } from './runner/credential-store.ts'
import { chatKinds, driverOf } from './runner/drivers.ts'

/** Endpoints for networks without a lasting connection. Each event is stored once, before the response. */
export const installChatCallbacks = async (app: FastifyInstance, parts: Services): Promise<void> => {
  const { db, seal, log, config } = parts
  const intake = makeInboundHandlers(parts)

  /** Builds the driver's tools for one request. */
  const toolsFor = (connection: string, platform: string) => {
    const lines = new Map<string, ChannelRef>()
    const lineOf = (channel: string): ChannelRef => {
      const channelRef = lines.get(channel)
      if (!channelRef) throw new Error(`the channel ${channel} was not resolved`)
      return channelRef
    }
    const tools: ChatDeps = {
      events: { line: () => {}, ...toEvents(intake, lineOf) },
      credentials: makeCredentialStore(db, seal, () => {}),
      home: resolve(config.home),
      log: (event, details) => log.info({ connection, ...details }, `${platform} ${event}`),
    }
    const find = async (number: { readonly id: string | null; readonly number: string }): Promise<string | null> => {
      const row = await store.findCarried(db, connection, number)
      if (!row) return null
      const { account_id: account, id: channel, platform: kind, phone_number } = row
      lines.set(channel, { account, channel, connection, platform: kind, number: phone_number })
      return row.id
    }
    return { tools, find }
  }

  await installCallbacks(app, parts, {
    path: '/callbacks/msgapp/:connection',
    maxBytes: maxCallbackBytes,
    answer: async ({ id, kind, settings }, request) => {
      const known = chatKinds.find((one) => one === kind)
      const { tools, find } = toolsFor(id, kind)
      return (await (known && driverOf(known))?.callback?.(settings, request, tools, find)) ?? null
    },
    refuse: () => {
      throw refusals.wrongSignature()
    },
  })
}
