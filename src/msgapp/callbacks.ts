import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { openConnection } from '../connections/ops.ts'
import type { ChatTools } from '../connectors/chat-port.ts'
import { Problem } from '../http/problem.ts'
import { parse } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as store from './channels/store.ts'
import { chatKinds, driverOf } from './drivers.ts'
import { heardBy, type Line, makeIntake } from './intake.ts'
import { makeVault } from './vault.ts'

const path = '/callbacks/msgapp/:connection'
/** Octets; networks tell many things in one request. */
const longest = 4 * 1024 * 1024

/** The same for a connection that is not there: nobody learns which ones are. */
const refused = () => new Problem('unauthorized', 'The request is not the network’s', 'wrong_signature')

/** What has one value, and that is text. */
const texts = (values: unknown): Record<string, string> => {
  const pairs = Object.entries(values ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  return Object.fromEntries(pairs)
}

/**
 * Where networks call that have no lasting link: no part of the interface for customers, and so in no contract. Any process
 * answers, whoever runs the connection: what is told is kept before it is answered, and kept once.
 */
export const installChatCallbacks = async (app: FastifyInstance, parts: Parts): Promise<void> => {
  const { db, seal, log, config } = parts
  const intake = makeIntake(parts)

  /** What a driver is given for one request. */
  const toolsFor = (connection: string, platform: string) => {
    const lines = new Map<string, Line>()
    const lineOf = (channel: string): Line => {
      const line = lines.get(channel)
      if (!line) throw new Error(`the channel ${channel} was not looked up`)
      return line
    }
    const tools: ChatTools = {
      events: { line: () => {}, ...heardBy(intake, lineOf) },
      vault: makeVault(db, seal, () => {}),
      home: resolve(config.home),
      log: (event, details) => log.info({ connection, ...details }, `${platform} ${event}`),
    }
    const find = async (number: string): Promise<string | null> => {
      const row = await store.carried(db, connection, number)
      if (!row) return null
      lines.set(row.id, { account: row.account_id, channel: row.id, connection, platform: row.platform, number })
      return row.id
    }
    return { tools, find }
  }

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: longest }, (_request, body, done) =>
      done(null, body),
    )
    scope.route<{ Params: { connection: string } }>({
      method: ['GET', 'POST'],
      url: path,
      bodyLimit: longest,
      handler: async ({ method, params, query, headers, body }, reply) => {
        const id = parse('CNX', params.connection)
        const found = id === null ? null : await openConnection(db, seal, id)
        const kind = chatKinds.find((one) => one === found?.kind)
        const driver = kind && driverOf(kind)
        if (id === null || !found || !driver?.callback) throw refused()
        const { tools, find } = toolsFor(id, found.kind)
        const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const request = { method, query: texts(query), headers: texts(headers), raw }
        const answer = await driver.callback(found.settings, request, tools, find)
        if (answer.status === 401) throw refused()
        return reply.code(answer.status).type('text/plain; charset=utf-8').send(answer.body)
      },
    })
  })
}
