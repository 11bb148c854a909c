import { randomBytes } from 'node:crypto'
import { createKeyWith, revokeKey } from '../../domains/accounts/api-keys/ops.ts'
import { refusals as accountRefusals } from '../../domains/accounts/refusals.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { printSid } from '../../platform/lib/sid.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { maxTokens } from './limits.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** The place that a sealed token is bound to. */
export const tokenPlace = (key: string): string => `twilio token ${key}`

/** The endpoints of credentials, which are of the native interface. */
export const credentialRoutes = ({ db, config, seal, changes }: Services) => [
  route(c.createCompatCredentials, async ({ account, key: own, request, tx, audit }) => {
    if (config.compat === 'off') throw refusals.interfaceOff()
    if ((await store.countTokens(tx, account.id)) >= maxTokens) throw refusals.tooManyTokens()
    // The form of Twilio's tokens, which some programs check.
    const token = randomBytes(16).toString('hex')
    const issued = await createKeyWith(tx, request, own, { label: 'Twilio-compatible token', secret: token })
    const { uuid, label, key: _, ...limits } = issued
    const id = parse('KEY', uuid) ?? refuse(refusals.unknownToken(uuid))
    await store.addToken(tx, account.id, id, seal.closeBytes(Buffer.from(token), tokenPlace(id)))
    await audit(tx, { target: uuid, after: { label, ...limits } })
    await changes.invalidate(tx, 'accounts')
    return ok({ account_sid: printSid('AC', account.id), auth_token: token, key_uuid: uuid, ...limits })
  }),

  route(c.listCompatCredentials, async ({ account }) => {
    const rows = await store.tokens(db, account.id)
    return ok({
      account_sid: printSid('AC', account.id),
      credentials: rows.map(({ key_id, last_four, created_at }, i) => ({
        key_uuid: print('KEY', key_id),
        last_four,
        signs: i === 0,
        created_at: iso(created_at),
      })),
    })
  }),

  route(c.revokeCompatCredentials, async ({ account, key: own, params, tx, audit }) => {
    const printed = params.key_uuid
    const id = parse('KEY', printed)
    if (id === null || !(await store.hasToken(tx, account.id, id))) throw refusals.unknownToken(printed)
    if (id === own.id) throw accountRefusals.keyInUse()
    const before = (await revokeKey(tx, own, id)) ?? refuse(refusals.unknownToken(printed))
    await audit(tx, { before })
    await changes.invalidate(tx, 'accounts')
    return ok({})
  }),
]
