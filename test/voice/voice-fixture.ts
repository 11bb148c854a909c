import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import { outcomeText } from '../../src/adapters/sip-gateway/testing.ts'
import type { Peer } from '../media/peer.ts'
import { makeSoftphone, type Softphone } from '../media/softphone.ts'
import { type Platform, until } from '../platform.ts'
import { openWebAgent, type WebAgent } from './web-agent.ts'

/** Settings of a platform whose SIP and media ports are any free ones. */
export const freePortSettings = { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }

/** The same platform with the key of another account with a balance, and that account's only user. */
export const openTenant = async (platform: Platform): Promise<{ tenant: Platform; user: string }> => {
  const must = async (path: string, body: object) => {
    const answer = await platform.call('POST', path, body)
    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  const account = `/operator/accounts/${(await must('/operator/accounts', { name: 'Another' })).account.uuid}`
  const { key } = await must(`${account}/keys`, { label: 'test' })
  await must(`${account}/credit`, { amount: '100' })
  const person = { first_name: 'Joan', last_name: 'Clarke', email: 'joan@example.com' }
  const { uuid: user } = (await must(`${account}/users`, person)).user
  const call: Platform['call'] = (method, path, body, headers = {}) =>
    platform.call(method, path, body, { 'x-user-api-key': key, ...headers })
  return { tenant: { ...platform, call }, user }
}

/** The users that a first start creates and that may call. */
export const activeUsers = async ({ call }: Platform): Promise<string[]> => {
  const { body } = await call('GET', '/open/users')
  return body.data.users.map(({ uuid }: { uuid: string }) => uuid)
}

export type Credentials = {
  readonly uri: string
  readonly ws_url: string
  readonly realm: string
  readonly username: string
  readonly password: string
  readonly generation: number
}

/** Fetches credentials as the SDK does: a token by the account's key, then credentials by the token. */
export const credentialsOf = async (platform: Platform, user: string, renew = false): Promise<Credentials> => {
  const { status, body } = await platform.call('POST', '/open/sdk/access-token', { user_uuid: user })
  assert.equal(status, 200, JSON.stringify(body))
  return await credentialsBy(platform, body.token, renew)
}

/** @param token of the user */
const credentialsBy = async ({ url }: Platform, token: string, renew = false): Promise<Credentials> => {
  const answer = await fetch(`${url}/open/sdk/credentials`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ renew }),
  })
  assert.equal(answer.status, 200)
  // The shape is that of src/domains/devices/contract.ts.
  const { sip } = (await answer.json()) as { sip: Credentials }
  return sip
}

/** A user at a browser: SIP over WebSocket with credentials of the platform, and a softphone for each call. */
export type BrowserUser = {
  readonly web: WebAgent
  readonly user: string
  readonly self: string
  readonly sip: Credentials
  /** @param sip null instead of a generation: none is sent @returns status and reason */
  register(sip?: Omit<Credentials, 'generation'> & { readonly generation: number | null }): Promise<string>
  softphone(): Promise<Softphone>
  /** The dial options for a number. */
  dialOptions(number: string, callerId?: string): RequestOptions
}

/** @param token of the user; default: a new one */
export const openBrowserUser = async (
  t: Pick<TestContext, 'after'>,
  platform: Platform,
  user: string,
  token: string | null = null,
): Promise<BrowserUser> => {
  const sip = token === null ? await credentialsOf(platform, user) : await credentialsBy(platform, token)
  const web = await openWebAgent(t, sip.ws_url, user)
  const self = `<${sip.uri}>`
  const { hostname } = new URL(sip.ws_url)
  return {
    web,
    user,
    self,
    sip,
    register: async ({ username, password, generation } = sip) =>
      outcomeText(
        await web.agent.request('REGISTER', {
          ...{ uri: `sip:${hostname}`, from: self, to: self, via: web.flow, credentials: { username, password } },
          headers: [
            ...(generation === null ? [] : [['X-Device-Gen', String(generation)] as const]),
            ['Expires', '300'],
          ],
        }),
      ),
    softphone: async () => {
      const peer = await makeSoftphone()
      t.after(() => peer.close())
      return peer
    },
    dialOptions: (number: string, callerId?: string) => ({
      ...{ uri: `sip:${number}@${hostname}`, from: self, via: web.flow },
      credentials: { username: sip.username, password: sip.password },
      headers: callerId === undefined ? [] : [['X-Caller-Id', callerId]],
    }),
  }
}

/**
 * Adds a trunk to a carrier, of any implementation, for numbers with a prefix. Resolves once the carrier has answered,
 * unless it never will.
 */
export const addTrunk = async ({ call }: Platform, settings: object, isDead = false): Promise<string> => {
  const name = `carrier ${Math.random()}`
  const made = await call('POST', '/operator/connections', {
    ...{ kind: 'sip-trunk', name, settings: { host: '127.0.0.1', ...settings } },
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { uuid } = made.body.connection
  const state = async () => (await call('GET', `/operator/connections/${uuid}`)).body.connection.state?.state
  if (!isDead) await until(async () => (await state()) === 'up')
  return uuid
}

/** The calls that a handset saw, oldest first. */
export const callsSeenBy = async ({ call }: Platform, handset: string) =>
  (await call('GET', `/sandbox/handsets/${handset}`)).body.calls

/** A handset that calls a number. */
export const makeCaller = (platform: Platform, handset: string, number: string) => {
  const seen = async (id: string) =>
    (await callsSeenBy(platform, handset)).find(({ call_id }: { call_id: string }) => call_id === id)
  return {
    /** Begins a call. @returns its id */
    ring: async (more: object = {}): Promise<string> => {
      const { status, body } = await platform.call('POST', `/sandbox/handsets/${handset}/calls`, {
        to: number,
        ...more,
      })
      assert.equal(status, 202, JSON.stringify(body))
      return body.call_id
    },
    /** What the handset saw of a call. */
    seen,
    ended: (id: string) =>
      until(async () => {
        const call = await seen(id)
        return call?.ended_at && call
      }),
  }
}

/** The newest call of the account, once it has ended. */
export const endedCall = ({ call }: Platform, count = 1) =>
  until(async () => {
    const { cdrs } = (await call('GET', '/open/voip/call-history')).body
    return cdrs.length >= count && cdrs[0].active === false && cdrs[0]
  })

/** The audible duration of a tone, in seconds. */
export const secondsOf = (tones: readonly { hertz: number; seconds: number }[], hertz: number): number =>
  tones.filter((tone) => Math.abs(tone.hertz - hertz) <= 3).reduce((sum, { seconds }) => sum + seconds, 0)

/** The number of duplicate packets. */
export const duplicatePackets = ({ sequences }: Peer): number => sequences.length - new Set(sequences).size

const figureOf = async ({ url }: Platform, name: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** Remembers the free capacity of a platform. @returns waits until no call is open, and none has media */
export const watchCapacity = async (platform: Platform): Promise<() => Promise<void>> => {
  const free = () => figureOf(platform, 'trunkline_call_capacity_available')
  const before = await free()
  return async () => {
    await until(async () => (await figureOf(platform, 'trunkline_calls')) === 0 && (await free()) === before)
  }
}
