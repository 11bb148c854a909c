import { Compile, type Validator } from 'typebox/compile'
import { errorText } from '../../../platform/lib/error-text.ts'
import { storableJson } from '../../../platform/lib/storable.ts'
import { maxProgramDepth, maxProgramDocumentBytes, maxProgramNotes, maxProgramVerbs } from '../limits.ts'
import { type ProgramDocument, ProgramError, type TwimlCompiler } from './program.ts'
import { dialTargetSchemas, screeningVerbs, type Verb, type VerbName, verbSchemas } from './verbs.ts'

const addressNames = ['action', 'url', 'urls', 'status_url'] as const

/** An answer of a program. `type`: its media type; `body` may be a few bytes longer than is allowed. */
export type ProgramAnswer = { readonly status: number; readonly type: string; readonly body: string }

const validators = new Map<VerbName, Validator>()

const validatorOf = (name: VerbName): Validator => {
  const known = validators.get(name)
  if (known) return known
  const made: Validator = Compile(verbSchemas[name])
  validators.set(name, made)
  return made
}

const isVerbName = (name: unknown): name is VerbName => typeof name === 'string' && Object.hasOwn(verbSchemas, name)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isDeeper = (value: unknown, depth: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((child) => isDeeper(child, depth - 1)))

const absolute = (address: string, baseUrl: string | null, place: string): string => {
  if (URL.canParse(address)) return address
  if (baseUrl !== null && URL.canParse(address, baseUrl)) return new URL(address, baseUrl).href
  throw new ProgramError('attribute', `${place}: ${address} is not an address`)
}

/** Verbs under construction: their count, and what was ignored. */
type Reading = { readonly baseUrl: string | null; readonly notes: string[]; verbs: number }

/** Returns attributes without those that are not known, with absolute addresses. */
const readAttributes = (given: Record<string, unknown>, properties: object, place: string, reading: Reading) => {
  const attributes: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given)) {
    if (Object.hasOwn(properties, key)) attributes[key] = value
    else if (reading.notes.length < maxProgramNotes)
      reading.notes.push(`${place}: the attribute ${key.slice(0, 64)} is not known and was ignored`)
  }
  for (const key of addressNames) {
    const value = attributes[key]
    if (typeof value === 'string') attributes[key] = absolute(value, reading.baseUrl, `${place}, ${key}`)
    else if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
      attributes[key] = value.map((each) => absolute(each, reading.baseUrl, `${place}, ${key}`))
  }
  return attributes
}

const readTarget = (target: unknown, place: string, reading: Reading): unknown => {
  if (!isObject(target)) return target
  const { properties } = 'number' in target ? dialTargetSchemas.number : dialTargetSchemas.user
  return readAttributes(target, properties, place, reading)
}

/** Reads the lists in a verb, in place: prompts, targets, and the verbs for a callee. */
const readNested = (attributes: Record<string, unknown>, name: VerbName, at: string, reading: Reading): void => {
  const readList = (key: string, label: string, read: (child: unknown, place: string) => unknown) => {
    const list = attributes[key]
    if (Array.isArray(list)) attributes[key] = list.map((child, index) => read(child, `${at}, ${label} ${index + 1}`))
  }
  if (name === 'gather')
    readList('prompts', 'prompt', (prompt, place) => readVerb(prompt, place, ['say', 'play', 'pause'], reading))
  if (name !== 'dial') return
  readList('targets', 'target', (target, place) => readTarget(target, place, reading))
  readList('confirm', 'confirm', (verb, place) => readVerb(verb, place, screeningVerbs, reading))
}

const readVerb = (given: unknown, place: string, allowed: readonly VerbName[] | null, reading: Reading): Verb => {
  if (!isObject(given)) throw new ProgramError('malformed', `${place} is not an object`)
  const { verb: name } = given
  if (!isVerbName(name) || (allowed && !allowed.includes(name)))
    throw new ProgramError('verb', `${place}: the verb ${String(name).slice(0, 64)} is not known here`)
  if (++reading.verbs > maxProgramVerbs)
    throw new ProgramError('too_large', `the document has more than ${maxProgramVerbs} verbs`)
  const at = `${place} (${name})`
  const attributes = readAttributes(given, verbSchemas[name].properties, at, reading)
  readNested(attributes, name, at, reading)
  const validator = validatorOf(name)
  if (!validator.Check(attributes)) {
    const error = validator.Errors(attributes)[0]
    const field = error?.instancePath.slice(1).replaceAll('/', '.') || 'attributes'
    throw new ProgramError('attribute', `${at}: ${field} ${error?.message ?? 'is not allowed'}`)
  }
  if (name === 'play' && ['url', 'urls', 'clip_uuid', 'tone'].filter((key) => key in attributes).length !== 1)
    throw new ProgramError('attribute', `${at}: give one of url, urls, clip_uuid and tone`)
  // The schema of this name has accepted it.
  return attributes as Verb
}

/**
 * Checks verbs of a document, or of a request.
 * @param baseUrl of relative addresses; null: they are refused
 * @throws ProgramError that names the verb and the attribute
 */
export const readVerbs = (value: unknown, baseUrl: string | null): ProgramDocument => {
  const list = isObject(value) ? value.verbs : value
  if (!Array.isArray(list)) throw new ProgramError('malformed', 'a document is a list of verbs, or {"verbs": […]}')
  if (isDeeper(list, maxProgramDepth))
    throw new ProgramError('malformed', `the document is nested more than ${maxProgramDepth} deep`)
  const reading: Reading = { baseUrl, notes: [], verbs: 0 }
  const verbs = list.map((verb, index) => readVerb(verb, `verb ${index + 1}`, null, reading))
  return { verbs, notes: reading.notes, baseUrl }
}

/** Escapes of characters that the database cannot store: U+0000, and halves of a surrogate pair. */
const unstorable = /\\u(?:0000|d[89a-f])/i

const parseJson = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    // A deeper one is refused later.
    return unstorable.test(text) && !isDeeper(value, maxProgramDepth + 2) ? JSON.parse(storableJson(value)) : value
  } catch (error) {
    throw new ProgramError('malformed', `the document is not JSON: ${errorText(error)}`)
  }
}

const xmlTypes = ['text/xml', 'application/xml', 'text/html']

/**
 * Reads the answer of a program by its content type. Returns null for an empty one: the verbs that are left go on.
 * @param url of the request
 * @throws ProgramError
 */
export const readAnswer = async (
  { status, type, body }: ProgramAnswer,
  url: string,
  compileTwiml: TwimlCompiler,
): Promise<ProgramDocument | null> => {
  try {
    if (status < 200 || status > 299) throw new ProgramError('status', `the program answered ${status}`)
    if (Buffer.byteLength(body) > maxProgramDocumentBytes)
      throw new ProgramError('too_large', `the document has more than ${maxProgramDocumentBytes / 1_024} KiB`)
    if (status === 204 || body.trim() === '') return null
    if (type === 'application/json') return readVerbs(parseJson(body), url)
    if (!xmlTypes.includes(type))
      throw new ProgramError('content_type', `the content type ${type.slice(0, 64) || '(none)'} is not supported`)
    const { verbs, notes } = await compileTwiml(url, body)
    const checked = readVerbs(verbs, url)
    return { ...checked, notes: [...notes, ...checked.notes] }
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    throw new ProgramError(error.code, error.message, url, status)
  }
}
