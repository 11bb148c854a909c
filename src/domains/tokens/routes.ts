import { ok, route } from '../../platform/http/endpoint.ts'
import { forbidden, invalid, notFound } from '../../platform/http/problem.ts'
import { iso, seconds } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const presentSigningKey = ({ kid, created_at, retired_at }: store.KeyRow) => ({
  kid,
  created_at: iso(created_at),
  ...(retired_at ? { retired_at: iso(retired_at) } : {}),
})

/** Maximum of unexpired revoked tokens per account. */
const maxRevoked = 10_000

export const tokenRoutes = ({ db, tokens, publicUrl, changes }: Services) => [
  route(c.mintToken, async ({ account, body, tx }) => {
    const unknown = `No active user ${body.user_uuid}`
    const id = parse('USR', body.user_uuid) ?? notFound(unknown)
    const ttl = Math.min(86_400, Math.max(60, body.ttl ?? 3600))
    const now = seconds(Date.now())
    const end = new Date((now + ttl) * 1000)
    const { epoch, back } = (await store.mintingContext(tx, account.id, id, end)) ?? notFound(unknown)
    const user = print('USR', id)
    const label = body.label ?? null
    const { token, expiresAt } = await tokens.mint(
      tx,
      { user, account: print('ACC', account.id), label, epoch },
      publicUrl(),
      ttl,
      now - back,
    )
    return ok({ token, user_uuid: user, label, expires_at: iso(expiresAt) })
  }),

  route(c.revokeTokens, async ({ account, body, tx, audit }) => {
    const { token, user_uuid } = body
    if ((token === undefined) === (user_uuid === undefined)) invalid('Give either token or user_uuid')
    if (user_uuid !== undefined) {
      const unknown = `No user ${user_uuid}`
      const user = parse('USR', user_uuid) ?? notFound(unknown)
      if ((await store.nextEpoch(tx, account.id, user)) === 0) notFound(unknown)
      await changes.invalidate(tx, 'tokens')
      await audit(tx, { target: print('USR', user), before: { tokens: 'all of the user' } })
      return ok({ user_uuid: print('USR', user), revoked: 'user' })
    }
    const found = await tokens.bearer(token ?? '', publicUrl())
    if (found?.account !== account.id) return notFound('The account issued no such token, or the token has expired')
    const { user, expiresAt } = found
    if ((await store.revoke(tx, account.id, user, expiresAt, maxRevoked)) === 0)
      forbidden(
        `The account has revoked ${maxRevoked} tokens that have not expired: revoke all tokens of a user by user_uuid instead`,
        'too_many_revocations',
      )
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
