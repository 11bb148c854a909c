import { forbidden, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  noActiveUser: (user: string) => notFound(`No active user ${user}`).at('user_uuid'),
  tokenOrUser: () => invalid('Give either token or user_uuid').at('token'),
  unknownToken: () => notFound('The account issued no such token, or the token has expired').at('token'),
  tooManyRevocations: (limit: number) =>
    forbidden(
      `The account has revoked ${limit} tokens that have not expired: revoke all tokens of a user by user_uuid instead`,
      'too_many_revocations',
    ),
}
