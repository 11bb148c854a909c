import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Platform, startPlatform, until } from '../../../test/platform.ts'
import { openBrowser, openCarrier } from '../../adapters/sip-gateway/testing.ts'

/** Connects a platform to a UDP carrier, and opens SIP browsers. @param settings of the connection to the carrier */
export const openVoicePlatform = async (t: TestContext, platform: Platform, settings: Record<string, unknown> = {}) => {
  const { call, url } = platform
  const carrier = await openCarrier(t)
  const created = await call('POST', '/operator/connections', {
    kind: 'sip-trunk',
    name: `carrier ${carrier.port}`,
    settings: { host: '127.0.0.1', port: carrier.port, ...settings },
  })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const trunk: string = created.body.connection.uuid
  // A platform that the test killed needs no clean-up.
  t.after(() => call('DELETE', `/operator/connections/${trunk}`).catch(() => {}))
  await until(async () => (await call('GET', `/operator/connections/${trunk}`)).body.connection.state?.state === 'up')

  /** Opens a user's browser, registered with credentials that the platform issued for a token. */
  const browser = async (user: string) => {
    const { body: token } = await call('POST', '/open/sdk/access-token', { user_uuid: user })
    const credentials = await call('POST', '/open/sdk/credentials', {}, { authorization: `Bearer ${token.token}` })
    assert.equal(credentials.status, 200, JSON.stringify(credentials.body))
    const { sip } = credentials.body
    const opened = await openBrowser(t, sip.ws_url, user)
    const register = () =>
      opened.register({
        until: Number(sip.username.split(':')[0]),
        password: sip.password,
        generation: sip.generation,
      })
    assert.match(await register(), /^200/)
    return {
      ...opened,
      register,
      get flow() {
        return opened.flow
      },
      get code() {
        return opened.code
      },
    }
  }

  return { ...platform, url, carrier, trunk, browser }
}

export const startVoicePlatform = (env: Record<string, string> = {}, home?: string) =>
  startPlatform(home, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0', ...env })

/** Returns the users of the first account. */
export const usersOf = async ({ call }: Pick<Platform, 'call'>): Promise<string[]> =>
  (await call('GET', '/open/users')).body.data.users.map(({ uuid }: { uuid: string }) => uuid)
