import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { parse } from '../../platform/lib/id.ts'
import type { ChatDeps } from '../../ports/chat.ts'
import type { Services } from '../../services.ts'
import { openConnection } from '../connections/ops.ts'
import * as store from './channels/store.ts'
import { makeInboundHandlers } from './inbound.ts'
import { type ChannelRef, toEvents } from './inbound-handlers.ts'
import { maxCallbackBytes } from './limits.ts'
import { refusals } from './refusals.ts'
import { makeCredentialStore } from './runner/credential-store.ts'
import { chatKinds, driverOf } from './runner/drivers.ts'

const path = '/callbacks/msgapp/:connection'

/** Selects parameters that have a single text value. */
const textParameters = (values: unknown): Record<string, string> => {
  const pairs = Object.entries(values ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  return Object.fromEntries(pairs)
}

/**
 * Endpoints for networks without a lasting connection. The endpoints are not part of the customer API, and so in no
 * contract. Any process may answer. Each event is stored once, before the response.
 */
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
    const find = async (number: string): Promise<string | null> => {
      const row = await store.findCarried(db, connection, number)
      if (!row) return null
      lines.set(row.id, { account: row.account_id, channel: row.id, connection, platform: row.platform, number })
      return row.id
    }
    return { tools, find }
  }

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxCallbackBytes }, (_request, body, done) =>
      done(null, body),
    )
    scope.route<{ Params: { connection: string } }>({
      method: ['GET', 'POST'],
      url: path,
      bodyLimit: maxCallbackBytes,
      handler: async ({ method, params, query, headers, body }, reply) => {
        const id = parse('CNX', params.connection)
        const found = id === null ? null : await openConnection(db, seal, id)
        const kind = chatKinds.find((one) => one === found?.kind)
        const driver = kind && driverOf(kind)
        if (id === null || !found || !driver?.callback) throw refusals.wrongSignature()
        const { tools, find } = toolsFor(id, found.kind)
        const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const request = { method, query: textParameters(query), headers: textParameters(headers), raw }
        const answer = await driver.callback(found.settings, request, tools, find)
        if (answer.status === 401) throw refusals.wrongSignature()
        return reply.code(answer.status).type('text/plain; charset=utf-8').send(answer.body)
      },
    })
  })
}
