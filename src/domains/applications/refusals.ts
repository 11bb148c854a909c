import { conflict, forbidden, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownApplication: (application: string) =>
    notFound(`Application ${application} does not exist`).at('application_uuid', 'voice.application_uuid'),
  tooMany: (limit: number) => conflict(`An account has at most ${limit} applications`, 'too_many_applications'),
  inUse: (number: string) =>
    conflict(`Calls to ${number} run the application: change the number first`, 'application_in_use'),
  programNotAllowed: (field: string) =>
    forbidden(
      `${field} names a program, which hears the calls of the account and dials at its cost: that needs the rights inbox and inbox.all`,
      'program_not_allowed',
    ).at(field),
  programOfLimitedKey: (field: string) =>
    forbidden(
      `${field} names a program, and what it spends for others counts for no key: use a key without spend_per_day`,
      'program_not_allowed',
    ).at(field),
  urlRefused: (field: string, why: string) => invalid(`${field} is refused: ${why}`, 'url_refused').at(field),
}
