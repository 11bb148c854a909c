import type { Shift } from '@trunkline/phone/gsm-national.ts'
import { isUs } from '@trunkline/phone/phone.ts'
import { type SegmentHeader, type Segments, segmentIn } from '@trunkline/phone/segments.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Micros } from '../../../platform/lib/money.ts'
import { refusals } from '../refusals.ts'
import type { Decision } from '../route/route-table.ts'

/** Route and price per segment for a destination, determined before a send. */
export type Quote = { readonly decision: Decision; readonly pricePerSegment: Micros }

type QuoteDeps = {
  readonly routing: { decide(to: string, isSandbox: boolean): Decision }
  readonly prices: { of(kind: 'sms_out' | 'mms_out', to: string): Micros | null }
  readonly sandboxAccounts: { has(account: string): boolean }
}

/** How a message is sent: its route and its parts. */
export type MessagePlan = {
  readonly decision: Decision
  /** Header that the text was segmented for. */
  readonly header: SegmentHeader
  readonly segments: Segments
}

/**
 * Determines route and price.
 * @param isMms whether the message has files: it has the price of an MMS, or else that of one segment
 * @throws the 422 Problem if the account may not send to the destination, or it has no price
 */
export const quoteFor = (
  { routing, prices, sandboxAccounts }: QuoteDeps,
  account: { readonly id: string; readonly a2pUs: boolean },
  to: string,
  isMms = false,
): Quote => {
  if (!account.a2pUs && isUs(to)) throw refusals.usUnsupported()
  const each =
    (isMms ? prices.of('mms_out', to) : null) ?? prices.of('sms_out', to) ?? refuse(refusals.destinationNotPriced(to))
  return { decision: routing.decide(to, sandboxAccounts.has(account.id)), pricePerSegment: each }
}

/** Segments a text for a decision, independently of the candidate that submits it. */
export const segmentFor = (text: string, { header, languages }: Pick<Decision, 'header' | 'languages'>): Segments =>
  segmentIn(text, header, languages)

/** An MMS has one part, however long its text is. */
export const asOnePart = ({ encoding, forcedBy }: Segments, text: string): Segments => ({
  encoding,
  forcedBy,
  shift: null,
  parts: [text],
})

/** Segmentation of a message as stored in its job: the header and, after a plus, the national language tables. */
export type Segmentation = SegmentHeader | `${SegmentHeader}+${number}.${number}`

export const formatSegmentation = (header: SegmentHeader, shift: Shift | null): Segmentation =>
  shift === null ? header : `${header}+${shift.locking}.${shift.single}`

export const parseSegmentation = (cut: Segmentation): { header: SegmentHeader; shift: Shift | null } => {
  const [header, tables] = cut.split('+')
  const [locking = 0, single = 0] = tables?.split('.').map(Number) ?? []
  return { header: header === 'udh16' ? 'udh16' : 'udh8', shift: tables === undefined ? null : { locking, single } }
}

/** Returns encoding, segments and price of a text without sending it. */
export const preview = (text: string, { decision, pricePerSegment }: Quote) => {
  const { encoding, parts, forcedBy } = segmentFor(text, decision)
  return { encoding, parts, forcedBy, price: pricePerSegment * parts.length, each: pricePerSegment }
}
