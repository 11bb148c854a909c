import type { TSchema } from 'typebox'

/** A JSON Schema as data: only the keywords that contracts use. */
export type Node = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Node[]
  properties?: Record<string, Node>
  patternProperties?: Record<string, Node>
  required?: string[]
  items?: Node
  pattern?: string
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minItems?: number
  maxItems?: number
  contentMediaType?: string
  examples?: unknown[]
}

// TypeBox's types distinguish kinds of schema; here all are read alike, as the JSON Schema that they are.
export const nodeOf = (schema: TSchema | undefined): Node => (schema ?? {}) as Node

export const fields = (schema: TSchema | undefined): [string, Node][] => Object.entries(nodeOf(schema).properties ?? {})

/** `USR` for a field that holds the id of a user. */
export const prefixOf = (node: Node): string | null => {
  const whole = node.anyOf?.map(prefixOf).find((prefix) => prefix !== null)
  // Prefix patterns are `^USR`, `^SM[IO]` or `^(?:SMS|DID)`: the first of several counts.
  const [, one, first] =
    /^\^(?:([A-Z]{2}(?:[A-Z]|\[[A-Z]+\]))|\(\?:([A-Z]{3})(?:\|[A-Z]{3})+\))\|?$/.exec(node.pattern ?? '') ?? []
  return whole ?? (one ?? first)?.replace(/\[(\w)\w*\]/, '$1') ?? null
}

/** True for an id of which every other form is answered as an unknown one: 404 instead of 400. */
export const takesAnyForm = (node: Node): boolean => node.pattern?.endsWith('|') ?? false
