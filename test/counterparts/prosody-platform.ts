import assert from 'node:assert/strict'
import type { Network } from '../../src/domains/msgapp/networks/chat.conformance.ts'
import { startPlatform, until } from '../platform.ts'
import { component, type Prosody, password, secret, startProsody } from '../prosody.ts'
import { openContact } from '../xmpp-contact.ts'

const ours = '+447911123101'
const nobody = '+447911123199'
const numbers = Array.from({ length: 30 }, (_, index) => `+4479111232${String(index).padStart(2, '0')}`)

export type Mode = 'client' | 'component'

const settingsOf = (mode: Mode, server: Prosody) =>
  mode === 'client'
    ? { mode, host: '127.0.0.1', port: server.port, domain: 'localhost', password, tls_ca: server.ca }
    : { mode, host: '127.0.0.1', port: server.componentPort, domain: 'localhost', component, secret, admin: 'check' }

/** The platform with a number on Prosody, and contacts with applications of their own. */
export type ProsodyPlatform = Network & {
  readonly server: Prosody
  /** The base address of the platform. */
  readonly url: string
  /** The channel’s address. */
  readonly me: string
  /** Addresses of accounts. */
  readonly numbers: readonly string[]
  roomOf(group: string): Promise<string>
}

export const startProsodyPlatform = async (mode: Mode, startServer = startProsody): Promise<ProsodyPlatform> => {
  const ends: (() => unknown)[] = []
  const life = { after: (work: () => unknown) => void ends.unshift(work) }
  const server = await startServer(
    life,
    [ours, ...numbers].map((number) => number.slice(1)),
  )
  const platform = await startPlatform()
  life.after(() => platform.end())
  const { call } = platform
  const must = async (path: string, body: object) => {
    const answer = await call('POST', path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  const settings = settingsOf(mode, server)
  const { account } = (await call('GET', '/open/info')).body
  const access = { account_uuids: [account.uuid] }
  const { connection } = await must('/operator/connections', { kind: 'xmpp', name: 'people', settings, ...access })
  await must(`/operator/accounts/${account.uuid}/number-grants`, { phone_number: ours })
  const { channel } = await must('/open/msgapp/channel/create', {
    phone_number: ours,
    friendly_name: 'Shop',
    connection: connection.uuid,
  })
  const path = `/open/msgapp/channel/${channel.uuid}`
  await until(async () => (await call('GET', `${path}/status`)).body.connection_status === 'C', 30)
  const me = `${ours.slice(1)}@${mode === 'client' ? 'localhost' : component}`
  const roomOf = async (group: string): Promise<string> =>
    (await call('GET', `/open/msgapp/group/${group}`)).body.group.wa_group_id
  const rest = numbers.values()
  return {
    server,
    url: platform.url,
    me,
    numbers,
    roomOf,
    call,
    channel: { uuid: channel.uuid, number: ours },
    unknownNumber: nobody,
    newPerson: async () => {
      const { value: number } = rest.next()
      if (number === undefined) throw new Error('there are no more accounts')
      return openContact(life, server, { number, me, roomOf })
    },
    freeze: () => server.signal('SIGSTOP'),
    thaw: () => server.signal('SIGCONT'),
    end: async () => {
      for (const end of ends) await end()
    },
  }
}
