import { invalid, notFound, retryAfter, unavailable, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  bodyNotContacts: () => invalid('The body must be a file of contacts, as CSV or vCards', 'invalid_file'),
  unknownCountry: (code: string) => invalid(`country: ${code} is unknown`).at('country'),
  badPhone: (field: string) =>
    unprocessable(`${field} must be a phone number in E.164 format, such as +447700900123`, 'invalid_phone_number').at(
      field,
    ),
  badEmail: (field: string) => invalid(`${field} must be an e-mail address`).at(field),
  emptyDetail: (field: string) => invalid(`${field} must not be empty`).at(field),
  unknownColumns: (known: string) =>
    invalid(`columns must be a list of ${known}, with commas; an empty one stays as it is named`).at('columns'),
  /** @param field Default: the id of the path */
  unknownContact: (contact: string, field = 'contact_uuid') => notFound(`No contact ${contact}`).at(field),
  mergeWithItself: () => invalid('from must not contain the contact that remains', 'merge_with_itself').at('from'),
  tooManyDetails: (count: number, most: number) =>
    unprocessable(
      `The merged contact would have ${count} details, and may have ${most}: give fields.contact_details`,
      'too_many_details',
    ).at('from'),
  pageByName: (field: string) =>
    invalid(`${field} must be 0: with sort=name or q, read further pages by cursor`).at(field),
  noPicture: (why: string) => notFound(`The contact has no picture: ${why}`, 'no_picture').at('contact_uuid'),
  noDetails: () => invalid('contact_details must have at least one detail').at('contact_details'),
  importRunning: () =>
    unavailable(
      'Another import of this account is running: try again when it has ended',
      'import_running',
      retryAfter(5),
    ),
}
