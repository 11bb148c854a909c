import { balanceOf } from '../../../domains/ledger/ops.ts'
import { route } from '../../../platform/http/endpoint.ts'
import { timeOf } from '../../../platform/lib/id.ts'
import { decimal } from '../../../platform/lib/money.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { rfc2822 } from '../times.ts'
import * as c from './contract.ts'

export const accountRoutes = ({ db }: Pick<Services, 'db'>) => [
  route(c.fetchAccount, async ({ account }) => {
    const sid = printSid('AC', account.id)
    const uri = `/2010-04-01/Accounts/${sid}`
    const created = rfc2822(timeOf(account.id))
    return {
      sid,
      friendly_name: account.name,
      status: 'active' as const,
      type: account.onTrial ? 'Trial' : 'Full',
      owner_account_sid: sid,
      auth_token: '',
      date_created: created,
      date_updated: created,
      uri: `${uri}.json`,
      subresource_uris: {
        messages: `${uri}/Messages.json`,
        incoming_phone_numbers: `${uri}/IncomingPhoneNumbers.json`,
        available_phone_numbers: `${uri}/AvailablePhoneNumbers.json`,
        balance: `${uri}/Balance.json`,
      },
    }
  }),

  route(c.fetchBalance, async ({ account }) => ({
    account_sid: printSid('AC', account.id),
    balance: decimal(await balanceOf(db, account.id)),
    currency: 'USD' as const,
  })),
]
