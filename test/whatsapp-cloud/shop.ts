import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Platform, until } from '../platform.ts'
import { appSecret, type GraphApi, verifyToken } from './graph.ts'

const folder = join(import.meta.dirname, 'messages')

/** Names of the messages in the folder: one of each kind, as the Cloud API sends it. */
export const messageNames = readdirSync(folder).map((file) => file.replace(/\.json$/, ''))

export const messageOf = (name: string): object => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))

/** A number of a business account, and people who write to it by signed callbacks. */
export type Shop = {
  readonly channel: string
  /** Posts one message as JSON. @returns the status */
  post(message: string): Promise<number>
  /** @returns the network's id of the message */
  write(person: string, message: object): Promise<string>
}

export const openShop = async (platform: Platform, graph: GraphApi, number: string): Promise<Shop> => {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await platform.call(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await graph.control('POST', 'phones', { number, name: 'Our shop' })
  const { account } = await call('GET', '/open/info')
  const settings = { kind: 'whatsapp-cloud', name: 'the shop', settings: graph.settings }
  const { connection } = await call('POST', '/operator/connections', { ...settings, account_uuids: [account.uuid] })
  const callback = `${platform.url}/callbacks/msgapp/${connection.uuid}`
  await graph.control('POST', 'callback', { url: callback, verify_token: verifyToken })
  const wanted = { phone_number: number, connection: connection.uuid }
  const { uuid: channel } = (await call('POST', '/open/msgapp/channel/create', wanted)).channel
  await until(async () => (await call('GET', `/open/msgapp/channel/${channel}/status`)).connection_status === 'C')
  let sent = 0

  const post = async (message: string) => {
    const metadata = { display_phone_number: number.slice(1) }
    const envelope = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [{ id: '1', changes: [{ field: 'messages', value: { metadata, messages: ['MESSAGE'] } }] }],
    })
    const body = envelope.replace('"MESSAGE"', () => message)
    const signature = `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
    return (await fetch(callback, { method: 'POST', body, headers })).status
  }
  return {
    channel,
    post,
    write: async (person, message) => {
      const id = `wamid.in.${++sent}`
      const timestamp = String(1_790_000_000 + sent)
      assert.equal(await post(JSON.stringify({ from: person.slice(1), id, timestamp, ...message })), 200)
      return id
    },
  }
}
