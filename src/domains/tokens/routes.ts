import type { FastifyRequest } from 'fastify'
import type { AccountKey } from '../../platform/http/auth.ts'
import { scopeRefusal } from '../../platform/http/auth.ts'
import { assertMayMake, endWithin } from '../../platform/http/credential-strength.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { iso, seconds } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { refusals as userRefusals } from '../users/refusals.ts'
import * as c from './contract.ts'
import { defaultTtl, longestTtl, maxRevokedTokens, shortestTtl } from './limits.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

const presentSigningKey = ({ kid, created_at, retired_at }: store.KeyRow) => ({
  kid,
  created_at: iso(created_at),
  ...(retired_at ? { retired_at: iso(retired_at) } : {}),
})

/** Checks that a member acts on the own user: others need team_settings. A key acts for all users. @throws Problem 403 */
const assertOwnUser = ({ sessionAccount }: FastifyRequest, key: AccountKey, user: string): void => {
  const own = sessionAccount?.userId ?? user
  if (user !== own && scopeRefusal(key, 'team_settings')) throw httpRefusals.sessionLacks('team_settings')
}

export const tokenRoutes = ({ db, tokens, publicUrl, changes }: Services) => [
  route(c.mintToken, async ({ account, key, request, body, tx }) => {
    const id = parse('USR', body.user_uuid) ?? refuse(refusals.noActiveUser(body.user_uuid))
    // With the token of a colleague, a person would take the colleague's calls.
    assertOwnUser(request, key, id)
    const now = seconds(Date.now())
    const lifetime = Math.min(longestTtl, Math.max(shortestTtl, body.ttl ?? defaultTtl))
    const expiresAt = endWithin(key.limits, new Date((now + lifetime) * 1000))
    assertMayMake(request, { kind: 'voice-token', expiresAt })
    const ttl = seconds(expiresAt) - now
    const { epoch, back } =
      (await store.mintingContext(tx, account.id, id, expiresAt, ttl)) ?? refuse(refusals.noActiveUser(body.user_uuid))
    const user = print('USR', id)
    const label = body.label ?? null
    const minted = await tokens.mint(
      tx,
      { user, account: print('ACC', account.id), label, epoch },
      publicUrl(),
      ttl,
      now - back,
    )
    return ok({ token: minted.token, user_uuid: user, label, expires_at: iso(minted.expiresAt) })
  }),

  route(c.revokeTokens, async ({ account, key, request, body, tx, audit }) => {
    const { token, user_uuid } = body
    if ((token === undefined) === (user_uuid === undefined)) throw refusals.tokenOrUser()
    if (user_uuid !== undefined) {
      const user = parse('USR', user_uuid) ?? refuse(userRefusals.unknownUser(user_uuid))
      assertOwnUser(request, key, user)
      if ((await store.nextEpoch(tx, account.id, user)) === 0) throw userRefusals.unknownUser(user_uuid)
      await changes.invalidate(tx, 'tokens')
      await audit(tx, { target: print('USR', user), before: { tokens: 'all of the user' } })
      return ok({ user_uuid: print('USR', user), revoked: 'user' })
    }
    const found = await tokens.bearer(token ?? '', publicUrl())
    if (found?.account !== account.id) throw refusals.unknownToken()
    const { user, expiresAt } = found
    assertOwnUser(request, key, user)
    if ((await store.revoke(tx, account.id, user, expiresAt, maxRevokedTokens)) === 0)
      throw refusals.tooManyRevocations(maxRevokedTokens)
    await changes.invalidate(tx, 'tokens')
    await audit(tx, { target: print('USR', user), before: { tokens: 'one' } })
    return ok({ user_uuid: print('USR', user), revoked: 'token' })
  }),

  route(c.listSigningKeys, async () => ok({ signing_keys: (await store.keys(db)).map(presentSigningKey) })),

  route(c.rotateSigningKey, async ({ tx, audit }) => {
    const signing_key = presentSigningKey(await tokens.rotate(tx))
    await audit(tx, { target: signing_key.kid, after: signing_key })
    return ok({ signing_key })
  }),
]
