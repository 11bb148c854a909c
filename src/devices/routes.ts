import { ok, serve } from '../http/endpoint.ts'
import { forbidden } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { isActive } from '../users/ops.ts'
import * as c from './contract.ts'
import { ephemeral, sipCredentials, sipSecret } from './ops.ts'
import * as store from './store.ts'

export const deviceRoutes = ({ config, seal, publicUrl }: Parts) => {
  const secret = sipSecret(seal)
  const { turnSecret, turnUrls } = config
  const [turn, stun] = [true, false].map((isTurn) => turnUrls.filter((url) => url.startsWith('turn') === isTurn))

  /** As RTCPeerConnection takes them. */
  const iceServers = (user: string, until: Date) => {
    const servers = stun && stun.length > 0 ? [{ urls: stun }] : []
    if (!turn || turn.length === 0 || turnSecret === null) return servers
    const { username, password: credential } = ephemeral(turnSecret, user, until)
    return [...servers, { urls: turn, username, credential }]
  }

  return [
    serve(c.getCredentials, async ({ account, person, body, tx }) => {
      const user = print('USR', person.user)
      if (!(await isActive(tx, account.id, person.user))) forbidden(`The user ${user} is not active`, 'user_inactive')
      const kept = body.renew ? await store.generation(tx, account.id, person.user) : null
      const generation = kept ?? (await store.addDevice(tx, account.id, person.user))
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
