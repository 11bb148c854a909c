import { childrenOf, parseTwiml, type TwimlElement, textOf } from './parser.ts'
import { TwimlError } from './twiml-error.ts'

/** A message that an answer sends. Addresses are absolute. */
export type Reply = {
  /** Null: the sender of the message that is answered. */
  readonly to: string | null
  /** Null: the number that it came to. */
  readonly from: string | null
  readonly text: string
  readonly media: readonly string[]
  readonly callbackUrl: string | null
}

/** The effects of an answer to a message: messages, and at the end perhaps another document. */
export type MessageAnswer = {
  readonly replies: readonly Reply[]
  readonly redirect: { readonly url: string; readonly method: 'GET' | 'POST' } | null
}

const absolute = (base: string, address: string): string => {
  const text = address.trim()
  if (!URL.canParse(text, base)) throw new TwimlError(12200, `${text} is not a valid address`)
  // Whole addresses are requested and signed as they were given.
  return URL.canParse(text) ? text : new URL(text, base).href
}

const optional = (attributes: TwimlElement['attributes'], ...names: readonly string[]): string | null =>
  names.map((name) => attributes[name]?.trim()).find((value) => value !== undefined && value !== '') ?? null

const replyOf = (base: string, verb: TwimlElement): Reply => {
  const { attributes, children } = verb
  const bodies = childrenOf(verb, 'Body')
  const plain = children.filter((child) => typeof child === 'string').join('')
  const strange = children.find((child) => typeof child !== 'string' && !['Body', 'Media'].includes(child.name))
  if (strange && typeof strange !== 'string') throw new TwimlError(12200, `Message cannot have ${strange.name}`)
  const callback = optional(attributes, 'statusCallback', 'action')
  return {
    to: optional(attributes, 'to'),
    from: optional(attributes, 'from'),
    text: (bodies.length > 0 ? bodies.map(textOf).join('') : plain).trim(),
    media: childrenOf(verb, 'Media').map((one) => absolute(base, textOf(one))),
    callbackUrl: callback === null ? null : absolute(base, callback),
  }
}

/**
 * Compiles a document that answers a message: `Message` (also `Sms`, its former name) with `Body` and `Media`, and `Redirect`.
 * @param base address of the document @throws TwimlError for every other verb
 */
export const compileMessageAnswer = (base: string, document: string): MessageAnswer => {
  const replies: Reply[] = []
  for (const verb of parseTwiml(document)) {
    switch (verb.name) {
      case 'Message':
      case 'Sms':
        replies.push(replyOf(base, verb))
        break
      case 'Redirect': {
        const method = verb.attributes.method?.toUpperCase() === 'GET' ? 'GET' : 'POST'
        // Verbs after it are not reached.
        return { replies, redirect: { url: absolute(base, textOf(verb)), method } }
      }
      default:
        throw new TwimlError(12200, `an answer to a message cannot have the verb ${verb.name}`)
    }
  }
  return { replies, redirect: null }
}
