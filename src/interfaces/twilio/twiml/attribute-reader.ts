import { programError } from '../../../domains/calls/compat/ops.ts'
import { maxDocumentNotes } from '../limits.ts'
import type { TwimlElement } from './parser.ts'

/** Collects what of a document has no effect. */
export type Notes = { readonly lines: readonly string[]; add(line: string): void }

export const makeNotes = (): Notes => {
  const lines: string[] = []
  return { lines, add: (line) => void (lines.length < maxDocumentNotes && !lines.includes(line) && lines.push(line)) }
}

/** Returns an address in full. @param base address of the document; null if it has none @throws ProgramError */
export const absolute = (base: string | null, address: string, where: string): string => {
  const text = address.trim()
  if (URL.canParse(text, base ?? undefined)) return new URL(text, base ?? undefined).href
  const why = base === null && text !== '' ? ', and the document has no address itself' : ''
  throw programError('attribute', `${where}: ${text === '' ? 'an empty text' : text} is not a full address${why}`)
}

/**
 * Reads the attributes of an element. A value that is not valid is noted, and has the effect of an absent one. Attributes
 * that nothing read are noted at the end.
 */
export const attributesOf = ({ name: element, attributes }: TwimlElement, base: string | null, notes: Notes) => {
  const unread = new Set(Object.keys(attributes))

  const read = (name: string): string | undefined => {
    unread.delete(name)
    return attributes[name]?.trim()
  }

  const invalid = (name: string): undefined => {
    notes.add(`${element}: ${name}="${String(attributes[name]).slice(0, 40)}" is not valid and has no effect`)
  }

  /** An address; undefined without one. @throws ProgramError */
  const address = (name: string): string | undefined => {
    const text = read(name)
    return text === undefined || text === '' ? undefined : absolute(base, text, `${element} ${name}`)
  }

  /** GET or POST; undefined without one. */
  const method = (name: string): 'GET' | 'POST' | undefined => {
    const text = read(name)?.toUpperCase()
    if (text === undefined || text === '') return undefined
    return text === 'GET' || text === 'POST' ? text : invalid(name)
  }

  return {
    text: read,
    invalid,
    address,
    method,
    /** A whole number; beyond its range it is the nearest of it. */
    number: (name: string, least: number, most: number): number | undefined => {
      const text = read(name)
      if (text === undefined || text === '') return undefined
      if (!/^\d{1,9}$/.test(text)) return invalid(name)
      const value = Number(text)
      if (value < least || value > most) notes.add(`${element}: ${name}="${text}" is beyond ${least} to ${most}`)
      return Math.min(most, Math.max(least, value))
    },
    flag: (name: string): boolean | undefined => {
      const text = read(name)?.toLowerCase()
      if (text === undefined || text === '') return undefined
      return text === 'true' || text === 'false' ? text === 'true' : invalid(name)
    },
    /** One of some words; undefined without one. */
    word: <const W extends string>(name: string, words: readonly W[]): W | undefined => {
      const text = read(name)
      if (text === undefined || text === '') return undefined
      return words.find((one) => one === text) ?? invalid(name)
    },
    /** Some of a list of words, between spaces; undefined without one. Others are noted. */
    words: <const W extends string>(name: string, words: readonly W[]): W[] | undefined => {
      const listed = (read(name) ?? '').split(/\s+/).filter((one) => one !== '')
      const found = words.filter((one) => listed.includes(one))
      if (listed.some((one) => !words.some((word) => word === one))) invalid(name)
      return found.length === 0 ? undefined : found
    },
    /** Action and its method; @param ordinary address without one */
    action: (ordinary: string | null) => {
      const action = address('action') ?? ordinary
      const action_method = method('method')
      return action === null ? {} : { action, ...present({ action_method }) }
    },
    /** Notes the attributes that have no effect. */
    end: (): void => {
      for (const name of unread) notes.add(`${element}: the attribute ${name.slice(0, 40)} has no effect`)
    },
  }
}

export type Attributes = ReturnType<typeof attributesOf>

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Returns an object without its undefined fields. */
export const present = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>
