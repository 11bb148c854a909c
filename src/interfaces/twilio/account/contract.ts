import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Named } from '../../../platform/http/schema.ts'
import { accountParams, accountPath, compatGroup, Rfc2822 } from '../compat-schemas.ts'

const read = { ...compatGroup('Twilio: account'), method: 'GET', params: accountParams, status: 200 } as const

export const fetchAccount = contract({
  ...read,
  id: 'twilioFetchAccount',
  needs: 'read_only',
  url: accountPath,
  summary: 'The account of the credentials',
  description: 'The reply never has the token.',
  reply: Named(
    'TwilioAccount',
    Type.Object({
      sid: Type.String(),
      friendly_name: Type.String(),
      status: Type.Literal('active'),
      type: Type.String({ description: 'Trial or Full' }),
      owner_account_sid: Type.String(),
      auth_token: Type.String({ description: 'Empty' }),
      date_created: Rfc2822,
      date_updated: Rfc2822,
      uri: Type.String(),
      subresource_uris: Type.Object({
        messages: Type.String(),
        incoming_phone_numbers: Type.String(),
        available_phone_numbers: Type.String(),
        balance: Type.String(),
      }),
    }),
  ),
  errors: {},
})

export const fetchBalance = contract({
  ...read,
  id: 'twilioFetchBalance',
  needs: 'money',
  url: `${accountPath}/Balance`,
  summary: 'The balance of the account',
  description: 'In US dollars, as the native interface.',
  reply: Named(
    'TwilioBalance',
    Type.Object({ account_sid: Type.String(), balance: Type.String(), currency: Type.Literal('USD') }),
  ),
  errors: {},
})
