import { Type } from 'typebox'
import { Id } from '../../platform/http/schema.ts'

// Parts of the contracts of accounts and of their keys.

export const accountParams = Type.Object({ account_uuid: Id('ACC') })
export const unknownAccount = 'No such account'
export const closed = 'The account is closed (account_closed)'
export const operator = { auth: 'operator', shape: 'full', tag: 'Operator: accounts' } as const
