import type { Readable } from 'node:stream'
import { type TProperties, Type } from 'typebox'
import type { Prefix } from '../lib/id.ts'

/** A phone number: E.164, or its digits alone. What is not one is answered 422. */
export const Phone = (description = 'E.164') =>
  Type.String({ format: 'phone', maxLength: 40, description, examples: ['+447700900123'] })

/** A web address, or nothing. */
export const webAddress = '^(?:[hH][tT][tT][pP][sS]?://.|$)'

/** An id with its prefix. A wrong prefix is 400; an unknown rest is 404. */
export const Id = (prefix: Prefix, description?: string) =>
  Type.String({
    pattern: `^${prefix}`,
    maxLength: 64,
    description: description ?? `Starts with ${prefix}`,
    examples: [`${prefix}01a1fcca-93ab-7cbc-9f10-be702f775479`],
  })

/** A file: a body of its bytes, or an answer of them. */
export const File = (contentMediaType: string, example: string) =>
  Type.Unsafe<Buffer | Readable>({ contentMediaType, examples: [example] })

/** Time as printed: ISO 8601 UTC with seconds. */
export const Time = Type.String({ format: 'date-time', examples: ['2026-11-21T06:20:00Z'] })

/** A decimal string such as `12.50`. */
export const Decimal = Type.String({ examples: ['12.50'] })

/** Text that a person wrote: not empty, bounded. */
export const Words = (maxLength: number, description?: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '\\S',
    examples: ['Example'],
    ...(description ? { description } : {}),
  })

/** One of a few words. */
export const Enum = <const T extends string[]>(values: T, options = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

export const Country = Type.String({
  pattern: '^[A-Za-z]{2}$',
  description: 'ISO 3166-1 alpha-2',
  examples: ['GB'],
})

/** `{success: true, …}` */
export const Ok = <T extends TProperties>(properties: T) => Type.Object({ success: Type.Literal(true), ...properties })

export const paging = {
  page_number: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'From 0' })),
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'The same as page_number' })),
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'The same as results_per_page' })),
}

/** What the reply of a paged list tells beside its rows. A client may loop while `count` equals its page size. */
export const listed = {
  count: Type.Integer({ description: 'Rows in this page' }),
  page: Type.Integer({ description: 'The page that was asked for, from 0' }),
  total: Type.Integer({ description: 'All matches' }),
}

type Paging = { page_number?: number; page?: number; results_per_page?: number; per_page?: number }

/** True when a page was asked for: some lists are given whole else. */
export const isPaged = (query: Paging): boolean =>
  [query.page_number, query.page, query.results_per_page, query.per_page].some((one) => one !== undefined)

/** The page asked for, and where it begins. */
export const pageOf = (query: Paging): { page: number; limit: number; offset: number } => {
  const page = query.page_number ?? query.page ?? 0
  const limit = query.results_per_page ?? query.per_page ?? 50
  return { page, limit, offset: page * limit }
}
