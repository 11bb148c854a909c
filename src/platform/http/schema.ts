import type { Readable } from 'node:stream'
import { type TProperties, type TSchema, Type } from 'typebox'
import type { Prefix } from '../lib/id.ts'

/** A phone number: E.164, or its digits alone. Anything else is answered 422. */
export const Phone = (description = 'E.164') =>
  Type.String({ format: 'phone', maxLength: 40, description, examples: ['+447700900123'] })

/** Pattern of a URL or an empty string. */
export const webAddress = '^(?:[hH][tT][tT][pP][sS]?://.|$)'

/** A web address that the platform requests. */
export const WebAddress = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 2_048,
    pattern: webAddress,
    description,
    examples: ['https://example.com/call'],
  })

/** An id with its prefix. A wrong prefix is answered 400, an unknown id 404. */
export const Id = (prefix: Prefix, description?: string) =>
  Type.String({
    pattern: `^${prefix}`,
    maxLength: 64,
    description: description ?? `Starts with ${prefix}`,
    examples: [`${prefix}01a1fcca-93ab-7cbc-9f10-be702f775479`],
  })

/** An id in a path, of which every other form is answered as an unknown id: 404. */
export const AnyId = (prefix: Prefix) =>
  Type.String({
    ...Id(prefix),
    pattern: `^${prefix}|`,
    maxLength: 500,
    description: `Starts with ${prefix}. Every other form is answered as an unknown id`,
  })

/** A file as the body of a request or response. */
export const FileBody = (contentMediaType: string, example: string) =>
  Type.Unsafe<Buffer | Readable>({ contentMediaType, examples: [example] })

/** Time in ISO 8601 UTC with seconds. */
export const Time = Type.String({ format: 'date-time', examples: ['2026-11-21T06:20:00Z'] })

/** A decimal string such as `12.50`. */
export const Decimal = Type.String({ examples: ['12.50'] })

/** Free text: not empty, of limited length. */
export const FreeText = (maxLength: number, description?: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: '\\S',
    examples: ['Example'],
    ...(description ? { description } : {}),
  })

/** One of several strings. */
export const Enum = <const T extends string[]>(values: T, options = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...options })

/** The method of requests to a web address. */
export const WebMethod = Enum(['GET', 'POST'], { description: 'Default: POST' })

export const Country = Type.String({
  pattern: '^[A-Za-z]{2}$',
  description: 'ISO 3166-1 alpha-2',
  examples: ['GB'],
})

/** Names a schema: it becomes a component of openapi.json, and each place that uses it a reference. Validators ignore
 *  the keyword. */
export const Named = <T extends TSchema>(name: string, schema: T): T => Object.assign(schema, { 'x-name': name })

/** `{success: true, …}` */
export const Ok = <T extends TProperties>(properties: T) => Type.Object({ success: Type.Literal(true), ...properties })

/** `{success: true}` */
export const Success = Named('Success', Ok({}))

const beyond = 'Beyond the first 10,000 rows, page by cursor'

/** Parameters of a list that is paged by number alone. */
export const pageNumberQuery = {
  page_number: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: `From 0. ${beyond}` })),
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'The same as page_number' })),
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50' })),
  per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'The same as results_per_page' })),
}

export const pagingQuery = {
  ...pageNumberQuery,
  cursor: Type.Optional(
    Type.String({ maxLength: 300, description: 'next_cursor of the previous page; page_number has no effect then' }),
  ),
}

/** Set where a total is not exact. */
export const totalCapped = Type.Optional(
  Type.Literal(true, { description: 'There are more matches than total, which is exact up to 10,000' }),
)

/** Fields of a paged list besides its rows. A client may loop while `count` equals its page size. */
export const pageFields = {
  count: Type.Integer({ description: 'Rows in this page' }),
  page: Type.Integer({ description: 'The requested page, from 0' }),
  total: Type.Integer({ description: 'All matches; at most 10,000' }),
  total_capped: totalCapped,
  next_cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one' })),
}
