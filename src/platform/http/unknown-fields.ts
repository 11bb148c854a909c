import type { preValidationHookHandler } from 'fastify'
import { closestWord } from '../lib/levenshtein.ts'
import { pointerStep } from './error-field.ts'
import { maxFieldNameLength } from './limits.ts'
import { refusals } from './refusals.ts'

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Returns the properties of an object schema, including applicable `if`/`then` ones; null for a free-form record. */
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
 * Refuses unknown fields at any depth. Bodies of operators are always checked; others where a missing field means
 * "everything", so that a mistyped name neither buys nor changes more than meant.
 * @param path of the value in the body
 * @throws Problem 400 with the field and the closest known one
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
      const steps = [...path, name.slice(0, maxFieldNameLength)]
      const pointer = `/${steps.map(pointerStep).join('/')}`
      const best = closestWord(name.slice(0, maxFieldNameLength), Object.keys(known))
      throw refusals.unknownField(steps.join('.'), best === null ? null : [...path, best].join('.')).at(pointer)
    }
    checkFields(known[name], inner, [...path, name])
  }
}

/** Returns the hook that refuses bodies with unknown fields, before schema validation. */
export const refuseUnknownFields =
  (schema: unknown): preValidationHookHandler =>
  (request, _reply, done) => {
    checkFields(schema, request.body)
    done()
  }
