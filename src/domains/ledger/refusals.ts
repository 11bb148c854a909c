import { conflict, insufficient, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  insufficientBalance: (price: string) =>
    insufficient(`The balance does not cover USD ${price}: add credit to the account`),
  keySpendLimit: (limit: string) =>
    insufficient(
      `The API key may spend USD ${limit} per day (UTC), and this would exceed it: try again tomorrow, or use a key with a higher spend_per_day`,
      'key_spend_limit',
    ),
  balanceTooHigh: () => invalid('amount would take the balance above 9,000,000,000').at('amount'),
  unknownTransfer: (transfer: string) => notFound(`The account has no transfer ${transfer}`).at('transfer_uuid'),
  correctionTooHigh: (transfer: string, amount: string, left: string, isDebit: boolean) =>
    conflict(
      `Corrections and refunds of ${transfer} may not exceed its USD ${amount}: USD ${left} is left to ${isDebit ? 'take' : 'give back'}`,
      'correction_exceeds_transfer',
    ).at('amount'),
  transferNotFinal: (transfer: string) =>
    conflict(
      `${transfer} moves money into or out of a hold, which gives back the rest itself. Correct the transfer of the sale`,
      'transfer_not_final',
    ).at('transfer_uuid'),
  badSignedAmount: () =>
    invalid(
      `amount must be a decimal number, not zero, with at most six places, and at most 1,000,000,000 either way`,
    ).at('amount'),
  badAmount: () =>
    invalid(`amount must be a decimal number above 0 with at most six places, and at most 1,000,000,000`).at('amount'),
  balanceTooLow: () => insufficient('amount would take the balance below -9,000,000,000').at('amount'),
  debitNotCovered: (amount: string) =>
    insufficient(`The balance does not cover USD ${amount}: take less, or send allow_negative true`).at('amount'),
}
