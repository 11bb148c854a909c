import { conflict, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownUser: (user: string) => notFound(`No user ${user}`).at('user_uuid'),
  emailExists: (email: string) =>
    conflict(
      `Another user of the account has the e-mail address ${email}: change that user, or give another address`,
      'email_exists',
    ).at('email'),
}
