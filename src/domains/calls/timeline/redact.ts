import type { CallRow } from '../store.ts'
import type { TimelineEntry } from './call-timeline.ts'

const addressPatterns: readonly (readonly [RegExp, string])[] = [
  // Name of a trunk, which an operator chose (`toTrunk` of the gateway).
  [/(channels of the trunk ).+( are taken)/, '$1…$2'],
  [/(sips?:(?:[^@\s>]*@)?)[^\s;>]+/gi, '$1…'],
  // IPv6 and IPv4 addresses and host names, each with its port.
  [/\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?:%\w+)?(?:\]:\d+|\])?/gi, '…'],
  [/(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?/g, '…'],
  [/\b(?:[a-z0-9_-]+\.)+[a-z]{2,}\b(?::\d+)?/gi, '…'],
]

/** In a call through a trunk only the browser's media entries belong to the account; the rest is the operator's. */
const isOwnEntry = ({ direction }: Pick<CallRow, 'direction'>, { what, leg }: TimelineEntry): boolean =>
  what === 'media' && leg === (direction === 'O' ? 'caller' : 'callee')

/** Returns a timeline entry as the account may read it, without carrier addresses. */
export const redact = (row: Pick<CallRow, 'direction' | 'is_trunk'>, line: TimelineEntry): TimelineEntry =>
  row.is_trunk && !isOwnEntry(row, line)
    ? { ...line, text: addressPatterns.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line.text) }
    : line
