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
  unknownContact: (contact: string) => notFound(`No contact ${contact}`).at('contact_uuid'),
  noDetails: () => invalid('contact_details must have at least one detail').at('contact_details'),
  importRunning: () =>
    unavailable(
      'Another import of this account is running: try again when it has ended',
      'import_running',
      retryAfter(5),
    ),
}
