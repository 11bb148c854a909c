import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import type { Crossing } from './store.ts'

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

/** Maps balance and limit to the payload of `balance.low`. */
export const presentLowBalance = ({ account_id, balance, low_balance }: Omit<Crossing, 'is_low'>, at: Date) => ({
  account_uuid: print('ACC', account_id),
  balance: money(balance),
  low_balance: money(low_balance),
  currency: 'USD',
  created_at: iso(at),
})
