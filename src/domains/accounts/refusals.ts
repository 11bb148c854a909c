import { conflict, forbidden, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  expiryNotInFuture: () => invalid('expires_at must be in the future').at('expires_at'),
  badAllowedAddress: (address: string) =>
    invalid(
      `allowed_addresses: ${address} is neither an address nor a network such as 192.0.2.0/24 or 2001:db8::/32`,
    ).at('allowed_addresses'),
  keyExceedsYours: (scope: string) =>
    forbidden(
      `The key has scope ${scope}, which yours lacks. Revoke it with a key that has all of its scopes`,
      'exceeds_own_key',
    ),
  tooManyKeys: (count: number, limit: number) =>
    forbidden(`The account has ${count} keys; at most ${limit} are allowed. Revoke an unused one`, 'too_many_keys'),
  tooManyRecentKeys: (count: number) =>
    forbidden(`The account has created ${count} keys within 24 hours, which is the limit. Use those`, 'too_many_keys'),
  tooManyLimitedMakers: (most: number) =>
    forbidden(
      `At most ${most} keys with spend_per_day are made one with the other, and yours is the last: use an earlier one, or a key without it`,
      'too_many_keys',
    ),
  holdsOpen: (count: number) =>
    conflict(
      `Money is held for ${count} calls or orders that have not ended. Wait for their end (accounts holds lists them)`,
      'holds_open',
    ),
  balanceRemains: (balance: string) =>
    conflict(
      `The balance is USD ${balance}: debit or credit it to zero first, or send write_off true`,
      'balance_remains',
    ).at('write_off'),
  callsOpen: (account: string, count: number) =>
    conflict(`${account} has ${count} calls under way: end them first (calls hangup)`, 'calls_open'),
  accountClosed: (account: string) =>
    conflict(`The account ${account} is closed, for good: create another one`, 'account_closed'),
  unknownAccount: (account: string) => notFound(`No account ${account}`).at('account_uuid'),
  badLowBalance: () => invalid('low_balance must be above 0, or null for never').at('low_balance'),
  badTimezone: (name: string) =>
    invalid(`working_hours: ${name} is not an IANA time zone, such as Europe/London`).at('working_hours'),
  hoursEndFirst: (day: string, from: string, until: string) =>
    invalid(`working_hours: ${day} ends at ${until}, which is not after ${from}`).at('working_hours'),
  unknownKey: (key: string) => notFound(`No key ${key}`).at('key_uuid'),
  keyInUse: () =>
    conflict('You cannot revoke the key used for this request: use another one', 'key_in_use').at('key_uuid'),
}
