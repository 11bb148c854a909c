import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { isActive } from '../users/ops.ts'
import * as c from './contract.ts'
import { makeEphemeral, sipCredentials, sipSecret } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

export const deviceRoutes = ({ config, seal, publicUrl }: Services) => {
  const secret = sipSecret(seal)
  const { turnSecret, turnUrls } = config
  const [turn, stun] = [true, false].map((isTurn) => turnUrls.filter((url) => url.startsWith('turn') === isTurn))

  /** Returns ICE servers in the format of RTCPeerConnection. */
  const iceServers = (user: string, until: Date) => {
    const servers = stun && stun.length > 0 ? [{ urls: stun }] : []
    if (!turn || turn.length === 0 || turnSecret === null) return servers
    const { username, password: credential } = makeEphemeral(turnSecret, user, until)
    return [...servers, { urls: turn, username, credential }]
  }

  return [
    route(c.getCredentials, async ({ account, person, body, request, tx }) => {
      assertMayMake(request, { kind: 'device', expiresAt: person.expiresAt })
      const user = print('USR', person.user)
      if (!(await isActive(tx, account.id, person.user))) throw refusals.userNotActive(user)
      const current = body.renew ? await store.generation(tx, account.id, person.user) : null
      const generation = current ?? (await store.addDevice(tx, account.id, person.user))
      const { hostname, href } = new URL('/voice', publicUrl())
      return ok({
        sip: {
          uri: `sip:${user}@${hostname}`,
          ws_url: href.replace(/^http/, 'ws'),
          realm: hostname,
          ...sipCredentials(secret, user, person.expiresAt, person.epoch),
          generation,
        },
        ice_servers: iceServers(user, person.expiresAt),
        expires_at: iso(person.expiresAt),
        user_uuid: user,
        label: person.label,
      })
    }),
  ]
}
