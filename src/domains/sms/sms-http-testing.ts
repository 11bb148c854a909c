import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { until } from '../../../test/platform.ts'
import type { SmsWorld } from './sms-testing.ts'

/** A message as the provider of the test got it. */
type HttpSubmit = { readonly id: string; readonly from: string; readonly text: string; readonly callback: string }

/** A provider of the test, which the driver `generic` describes. */
export type TestProvider = {
  readonly url: string
  readonly submits: HttpSubmit[]
  /** Answers the next submits. Default: taken. */
  readonly answers: ((submit: HttpSubmit, response: ServerResponse) => void)[]
  /** Reports on a message to its callback address. @returns the status of our answer */
  report(submit: HttpSubmit, state: string, token?: string): Promise<number>
  /** A handset writes. @returns the status of our answer */
  write(connection: string, fields: { from: string; to: string; text: string; secret?: string }): Promise<number>
  /** The settings of a connection to it. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** Posts JSON. @returns the status of the answer */
export const post = async (url: string, fields: object): Promise<number> => {
  const headers = { 'content-type': 'application/json' }
  const answered = await fetch(url, { method: 'POST', headers, body: JSON.stringify(fields) })
  await answered.text()
  return answered.status
}

/** Starts a provider. @param ours the address of the platform */
export const startProvider = async (ours: string): Promise<TestProvider> => {
  const submits: HttpSubmit[] = []
  const answers: TestProvider['answers'] = []
  const server = createServer(async (request, response) => {
    const given: { from: string; text: string; callback: string } = JSON.parse(await text(request))
    const submit = { id: `http-${submits.length}`, ...given }
    submits.push(submit)
    const answer = answers.shift()
    if (answer) answer(submit, response)
    else response.end(JSON.stringify({ id: submit.id }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  const url = `http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}/messages`
  return {
    url,
    submits,
    answers,
    settings: {
      ...{ provider: 'generic', url, body: '{"from":"{from}","to":"{to}","text":"{text}","callback":"{callback}"}' },
      ...{ id_path: '/id', error_path: '/code', receipt_id: '/id', receipt_state: '/state', callback_secret: 'known' },
      ...{ inbound_from: '/from', inbound_to: '/to', inbound_text: '/text' },
    },
    report: ({ id, callback }, state, token) =>
      post(token === undefined ? callback : callback.replace(/m=.*/, `m=${token}`), { id, state }),
    write: (connection, { secret = 'known', ...fields }) =>
      post(`${ours}/callbacks/sms/CNX${connection}?secret=${secret}`, fields),
  }
}

/** Connects the platform to a provider, and waits for the route. @returns the bare id of the connection */
export const connectProvider = async (
  { call, parts }: SmsWorld,
  provider: Pick<TestProvider, 'settings'>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> => {
  const { status, body } = await call('operator', 'POST', '/operator/connections', {
    ...{ kind: 'sms-http', name: 'conformance', settings: { ...provider.settings, ...more } },
  })
  assert.equal(status, 201, JSON.stringify(body))
  const id: string = body.connection.uuid.slice(3)
  await until(async () => parts.carriers.state(id)?.state === 'up')
  await parts.routing.ready()
  return id
}

export const disconnectProvider = async ({ call, parts }: SmsWorld, connection: string): Promise<void> => {
  await call('operator', 'DELETE', `/operator/connections/CNX${connection}`)
  await until(async () => parts.carriers.state(connection) === null)
}
