import { ok, serve } from '../http/endpoint.ts'
import { unprocessable } from '../http/problem.ts'
import { phoneNumber } from '../http/validation.ts'
import { dollars } from '../lib/money.ts'
import { mainCountryOf } from '../lib/phone.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'

export const callRoutes = ({ prices }: Parts) => [
  serve(c.estimateCallPrice, async ({ params }) => {
    const number = phoneNumber(params.number)
    const price =
      prices.of('call_out', number) ??
      unprocessable(`There is no price for calls to ${number}`, 'destination_not_priced')
    return ok({
      price_per_minute: dollars(price),
      currency: 'USD' as const,
      iso_country_code: mainCountryOf(number) ?? '',
    })
  }),
]
