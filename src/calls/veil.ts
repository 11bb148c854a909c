import type { CallRow } from './store.ts'
import type { Line } from './story.ts'

const hidden: readonly (readonly [RegExp, string])[] = [
  // The name that an operator gave to a trunk (`toTrunk` of the gateway).
  [/(channels of the trunk ).+( are taken)/, '$1…$2'],
  [/(sips?:(?:[^@\s>]*@)?)[^\s;>]+/gi, '$1…'],
  // IPv6, IPv4 and names of hosts, each with its port.
  [/\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?:%\w+)?(?:\]:\d+|\])?/gi, '…'],
  [/(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?/g, '…'],
  [/\b(?:[a-z0-9_-]+\.)+[a-z]{2,}\b(?::\d+)?/gi, '…'],
]

/** Of a call through a trunk only what the browser heard and said is its own matter: where carriers are is the operator's. */
const isOwn = ({ direction }: Pick<CallRow, 'direction'>, { what, leg }: Line): boolean =>
  what === 'media' && leg === (direction === 'O' ? 'caller' : 'callee')

/** A line of the story of a call as its account may read it. */
export const veiled = (row: Pick<CallRow, 'direction' | 'is_trunk'>, line: Line): Line =>
  row.is_trunk && !isOwn(row, line)
    ? { ...line, text: hidden.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line.text) }
    : line
