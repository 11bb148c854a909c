import { ok, serve } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import { isActive } from '../users/ops.ts'
import * as c from './contract.ts'
import * as store from './store.ts'

const shown = ({ kid, created_at, retired_at }: store.KeyRow) => ({
  kid,
  created_at: iso(created_at),
  ...(retired_at ? { retired_at: iso(retired_at) } : {}),
})

export const tokenRoutes = ({ db, tokens, publicUrl }: Parts) => [
  serve(c.mintToken, async ({ account, body, tx }) => {
    const unknown = `No active user ${body.user_uuid}`
    const id = parse('USR', body.user_uuid) ?? notFound(unknown)
    if (!(await isActive(tx, account.id, id))) notFound(unknown)
    const user = print('USR', id)
    const ttl = Math.min(86_400, Math.max(60, body.ttl ?? 3600))
    const label = body.label ?? null
    const { token, expiresAt } = await tokens.mint(
      tx,
      { user, account: print('ACC', account.id), label },
      publicUrl(),
      ttl,
    )
    return ok({ token, user_uuid: user, label, expires_at: iso(expiresAt) })
  }),

  serve(c.listSigningKeys, async () => ok({ signing_keys: (await store.keys(db)).map(shown) })),

  serve(c.rotateSigningKey, async ({ tx, audit }) => {
    const signing_key = shown(await tokens.rotate(tx))
    await audit(tx, { target: signing_key.kid, after: signing_key })
    return ok({ signing_key })
  }),
]
