import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Ok, Phone } from '../http/schema.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

export const estimateCallPrice = contract({
  ...account,
  id: 'estimateCallPrice',
  method: 'GET',
  url: '/open/voip/estimated-call-price/:number',
  summary: 'What a minute of a call to a number costs at this moment',
  params: Type.Object({ number: Phone('The destination, E.164') }),
  status: 200,
  reply: Ok({
    price_per_minute: Type.Number({ description: 'USD; each minute that begins is paid', examples: [0.012] }),
    currency: Type.Literal('USD'),
    iso_country_code: Type.String({ examples: ['GB'] }),
  }),
  errors: { unprocessable: 'The number is not E.164, or there is no price for it (destination_not_priced)' },
})
