import { conflict, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  numberOwned: (number: string) =>
    conflict(`Another account owns ${number} on the platform`, 'number_owned').at('phone_number'),
  unknownGrant: (account: string, number: string) =>
    notFound(`${account} has no grant for ${number}`).at('phone_number'),
}
