import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../platform/db/sql.ts'
import { type Account, type AccountKey, scopeRefusal } from '../../platform/http/auth.ts'
import { type Capability, hasOneOf } from '../../platform/http/capability.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { type Access, accessOf } from './access.ts'

/** The one who makes a request, with what it may do. */
export type Actor = Access & {
  can(capability: Capability): boolean
  /** @throws Problem 403 if the key or role lacks the capability */
  require(capability: Capability): void
}

type Call = { readonly account: Account; readonly key: AccountKey; readonly request: FastifyRequest }

/** Returns who makes a request of an account. */
export const actorOf = async (sql: Sql, call: Call): Promise<Actor> => {
  const { key, request } = call
  return {
    ...(await accessOf(sql, call)),
    can: (capability) => hasOneOf(key, capability),
    require: (capability) => {
      const refusal = scopeRefusal(key, capability)
      if (refusal) throw request.session ? httpRefusals.sessionLacks(capability) : refusal
    },
  }
}
