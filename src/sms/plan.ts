import { unprocessable } from '../http/problem.ts'
import type { Micros } from '../lib/money.ts'
import { isUs } from '../lib/phone.ts'
import { segment } from '../lib/segments.ts'
import type { Parts } from '../parts.ts'
import type { Decision } from './route.ts'

/** How a text to a destination is to be sent, before anything is: its price and its parts follow from it. */
export type Plan = { readonly decision: Decision; readonly each: Micros }

/** @throws the 422 Problem for a destination that the account may not send to, or that has no price */
export const planFor = (
  { routing, prices, sandboxAccounts }: Pick<Parts, 'routing' | 'prices' | 'sandboxAccounts'>,
  account: { readonly id: string; readonly a2pUs: boolean },
  to: string,
): Plan => {
  if (!account.a2pUs && isUs(to))
    unprocessable('to_number is in the US: A2P messaging to US numbers is not supported', 'a2p_us_unsupported')
  const each = prices.of('sms_out', to) ?? unprocessable(`There is no price for SMS to ${to}`, 'destination_not_priced')
  return { decision: routing.decide(to, sandboxAccounts.has(account.id)), each }
}

/** What a text would be sent as. */
export const previewOf = (text: string, { decision, each }: Plan) => {
  const { encoding, parts, forcedBy } = segment(text, decision.long)
  return { encoding, parts, forcedBy, price: each * parts.length, each }
}
