import { type TSchema, Type } from 'typebox'
import type { SidPrefix } from '../../platform/lib/sid.ts'
import { maxUrlLength } from './limits.ts'

/** Path of the account, with which all paths of the first version begin. */
export const accountPath = '/2010-04-01/Accounts/:AccountSid'

export const AccountSid = Type.String({
  maxLength: 100,
  description: 'AC and the 32 digits of the account’s uuid; that of the credentials',
  examples: ['AC01a1fcca93ab7cbc9f10be702f775479'],
})

/** A path with the SID of a resource. Every other form is answered as an unknown one. */
export const sidParams = (prefix: SidPrefix, description: string) =>
  Type.Object({
    AccountSid,
    Sid: Type.String({ maxLength: 100, description, examples: [`${prefix}01a1fcca93ab7cbc9f10be702f775479`] }),
  })

export const accountParams = Type.Object({ AccountSid })

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** Time in RFC 2822. */
export const Rfc2822 = Type.String({ examples: ['Sun, 29 Nov 2026 02:00:00 +0000'] })

export const Url = (description: string) => Type.String({ maxLength: maxUrlLength, description })

/** The method of a request to a program. */
export const Method = Type.Unsafe<'GET' | 'POST'>({ type: 'string', enum: ['GET', 'POST', 'get', 'post'] })

export const methodOf = (text: string): 'GET' | 'POST' => (text.toUpperCase() === 'GET' ? 'GET' : 'POST')

const compat = { auth: 'account', scheme: 'basic', shape: 'compat' } as const

/** Fields of every contract of a group. */
export const compatGroup = <const Tag extends string>(tag: Tag) => ({ ...compat, tag })

/** The reply of a deletion: 204 without a body. */
export const Nothing = Type.Object({})
