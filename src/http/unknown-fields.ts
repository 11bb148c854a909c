import type { preValidationHookHandler } from 'fastify'
import { nearest } from '../lib/nearest.ts'
import { invalid } from './problem.ts'

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Longer names are cut: the search for the nearest name takes time by their length. */
const longest = 60

/** The properties of an object, those of the `if` and `then` of its schema included; null for a free-form record. */
const knownFields = (schema: Json, value: Json): Json | null => {
  const { properties, patternProperties, additionalProperties, allOf } = schema
  if (!isObject(properties) || patternProperties !== undefined || isObject(additionalProperties)) return null
  const known: Record<string, unknown> = { ...properties }
  for (const one of listOf(allOf)) {
    if (!isObject(one) || !isObject(one.if) || !isObject(one.if.properties) || !isObject(one.then)) continue
    const applies = Object.entries(one.if.properties).every(
      ([name, condition]) => isObject(condition) && condition.const === value[name],
    )
    if (applies && isObject(one.then.properties)) Object.assign(known, one.then.properties)
  }
  return known
}

/**
 * Refuses fields that a schema does not know, at any depth.
 * @param path where the value lies in the body
 * @throws Problem 400 that names the field and the nearest known one
 */
export const checkFields = (schema: unknown, value: unknown, path: readonly string[] = []): void => {
  if (!isObject(schema)) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) checkFields(schema.items, item, [...path, String(i)])
    return
  }
  if (!isObject(value)) return
  const choices = listOf(schema.anyOf).filter(isObject)
  const known = knownFields(choices.find(({ type }) => type === 'object') ?? schema, value)
  if (known === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (!Object.hasOwn(known, name)) {
      const field = [...path, name.slice(0, longest)].join('.')
      const best = nearest(name.slice(0, longest), Object.keys(known))
      invalid(`There is no field ${field}${best === '' ? '' : `; did you mean ${[...path, best].join('.')}?`}`)
    }
    checkFields(known[name], inner, [...path, name])
  }
}

/** Refuses a body with fields that its schema does not know, before the schema is checked. */
export const refuseUnknownFields =
  (schema: unknown): preValidationHookHandler =>
  (request, _reply, done) => {
    checkFields(schema, request.body)
    done()
  }
