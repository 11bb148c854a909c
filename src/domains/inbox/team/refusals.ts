import { notFound, unprocessable } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownMember: (user: string) => notFound(`User ${user} is not an active user of this account`).at('user_uuid'),
  userRequired: () =>
    unprocessable('The request is of a key, which is no person: give user_uuid', 'user_required').at('user_uuid'),
}
