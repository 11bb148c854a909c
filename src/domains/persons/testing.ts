import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import { bytesOf } from '../../../test/authenticator-app.ts'
import { type Browser, goodPassword } from '../../../test/persons.ts'
import type { World } from '../../../test/world.ts'
import { makeKey } from '../../platform/lib/secret.ts'
import { paces } from './limits.ts'
import { codeAt, stepAt } from './second-factor/totp.ts'

/** Sets up the app of a person. @returns the recovery codes */
export const activateApp = async (browser: Browser): Promise<string[]> => {
  const { secret } = (await browser.call('POST', '/console/totp')).body
  const code = codeAt(bytesOf(secret), stepAt(Date.now()))
  return (await browser.call('POST', '/console/totp/verify', { code })).body.recovery_codes
}

/**
 * Returns how often sessions were marked as changed for all processes. A test of one process cannot see it in a reply:
 * the poll of an earlier change may clear the cache of sessions at any time.
 */
export const sessionChanges = async ({ db }: Pick<World, 'db'>): Promise<number> =>
  (await db.maybe<{ version: number }>`select version::integer as version from changes where topic = 'sessions'`)
    ?.version ?? 0

/** Requests from many addresses, some of an attacker. */
export const makeVisitors = (world: Pick<World, 'app'>) => {
  let addresses = 0
  /** An address from which no request came yet. */
  const cleanAddress = (): string => {
    addresses++
    return `127.${1 + (addresses >> 16)}.${(addresses >> 8) & 255}.${addresses & 255}`
  }

  const send = async (
    remoteAddress: string,
    url: string,
    payload?: object,
    cookie?: string,
    method: InjectOptions['method'] = 'POST',
  ) => {
    const headers = { 'x-trunkline-console': '1', ...(cookie ? { cookie } : {}) }
    const answer = await world.app.inject({ method, url, remoteAddress, headers, ...(payload ? { payload } : {}) })
    const set = [answer.headers['set-cookie'] ?? []].flat().map((line) => line.split(';', 1)[0] ?? '')
    return { status: answer.statusCode, body: answer.json(), set }
  }

  const enter = (from: string, email: string, password = goodPassword, cookie?: string, code?: string) =>
    send(from, '/console/session', { email, password, ...(code ? { code } : {}) }, cookie)

  /** Returns the cookie by which a browser knows who signed in, as a reply set it. */
  const markOf = ({ set }: { readonly set: readonly string[] }): string =>
    set.find((pair) => pair.startsWith('trunkline-browser=')) ?? assert.fail('no cookie for the browser')

  /** Uses up the attempts of an e-mail address, from addresses that change. */
  const attack = async (email: string): Promise<void> => {
    for (let i = 0; i < paces.wrong.burst; i++)
      assert.equal((await enter(cleanAddress(), email, 'a wrong password')).status, 401)
  }

  /** Uses up the attempts of an address. Wrong keys need no hash. */
  const exhaust = async (address: string): Promise<void> => {
    for (let i = 0; i < paces.wrong.burst; i++)
      assert.equal((await send(address, '/console/session', { key: makeKey('UAK') })).status, 401)
  }

  return { cleanAddress, send, enter, markOf, attack, exhaust }
}
