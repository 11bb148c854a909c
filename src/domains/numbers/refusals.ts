import {
  conflict,
  invalid,
  notFound,
  retryAfter,
  unauthorized,
  unavailable,
  unprocessable,
} from '../../platform/http/problem.ts'

export const refusals = {
  bodyNotCsv: () => invalid('The body must be CSV: its first line names the columns', 'invalid_csv'),
  unknownImport: (id: string) => notFound(`There is no import ${id}`).at('import_uuid'),
  unknownCountryCode: (country: string) =>
    invalid(`country ${country} is not one that has numbers (ISO 3166-1 alpha-2)`, 'unknown_country').at('country'),
  numbersOrGroup: () => invalid('Give either numbers or group_id').at('numbers'),
  unknownGroup: (group: string) => notFound(`There is no number group ${group}`).at('group_id'),
  unknownVirtualNumber: (id: string) => notFound(`There is no virtual number ${id}`).at('virtual_number_uuid'),
  voiceField: (kind: string, field: string) =>
    invalid(`voice of the kind ${kind} needs ${field}`, 'voice_field').at(`/voice/${field}`),
  urlRefused: (field: string, why: string) =>
    invalid(`voice.${field} is refused: ${why}`, 'url_refused').at(`/voice/${field}`),
  alreadySuspended: () => conflict('The number is suspended already', 'number_suspended'),
  notSuspended: () => conflict('The number is not suspended', 'number_not_suspended'),
  numberUnavailable: (number: string) => conflict(`${number} is not available`, 'number_unavailable').at('number'),
  groupSoldOut: (group: string, location: string) =>
    conflict(`The group ${group} (${location}) has no free number`, 'group_sold_out').at('group_id'),
  unknownReservation: (reservation: string) =>
    notFound(`There is no reservation ${reservation}`).at('reservation_uuid'),
  nothingReserved: () => conflict('The account has no active reservation', 'nothing_reserved'),
  prefixAndGroup: (index: number) =>
    invalid(`prices.${index}: prefix and group_id exclude each other`).at(`prices.${index}.group_id`),
  badPrice: (index: number, field: string, reason: string) =>
    invalid(`prices.${index}.${field}: ${reason}`).at(`prices.${index}.${field}`),
  emptyCsv: () => unprocessable('The CSV has no lines below its header', 'invalid_csv'),
  alreadyRegistered: (number: string) => conflict(`${number} is registered already`, 'already_registered'),
  noRequirements: () => conflict('The number has no requirements', 'nothing_required'),
  numberReleased: () => conflict('The number was released', 'number_released'),
  unknownRequirement: (field: string, id: number) =>
    invalid(`${field}.requirement_id ${id} is not a requirement here: see GET /open/numbers/requirements`).at(
      `${field}.requirement_id`,
    ),
  repeatedRequirement: (field: string, id: number) =>
    invalid(`${field}.requirement_id ${id} appears twice`).at(`${field}.requirement_id`),
  documentNotAccepted: (field: string) =>
    invalid(`${field}.document_uuid is not accepted here: give value, the answer in words`).at(
      `${field}.document_uuid`,
    ),
  valueRequired: (field: string) => invalid(`${field}.value is required`).at(`${field}.value`),
  valueNotAccepted: (field: string) =>
    invalid(`${field}.value is not accepted here: give document_uuid, an uploaded document`).at(`${field}.value`),
  documentRequired: (field: string) => invalid(`${field}.document_uuid is required`).at(`${field}.document_uuid`),
  wrongDocumentKind: (field: string, kind: string, required: string) =>
    invalid(`${field}.document_uuid is of the kind ${kind}, and must be of the kind ${required}`).at(
      `${field}.document_uuid`,
    ),
  unknownRegistration: (id: string) => notFound(`There is no registration of a number ${id}`).at('virtual_number_uuid'),
  documentNotOfNumber: (document: string) => notFound(`There is no document ${document} of this number`),
  badDidType: (types: string) =>
    invalid(`did_type must be one of ${types}, or an id of the did-types endpoint`).at('did_type'),
  badTimezone: () => invalid('timezone must be an IANA name such as Europe/London').at('timezone'),
  unknownCountry: (country: string) =>
    invalid(`country ${country} is not one that has numbers`, 'unknown_country').at('country'),
  regionRequired: () =>
    invalid('A region is required for the US: give region_id, city_id or city_name_or_prefix', 'region_required').at(
      'region_id',
    ),
  noNumberSelection: (group: string) =>
    invalid(`The group ${group} does not support number selection`, 'number_selection_not_allowed').at('group_id'),
  emptyNumberSearch: () =>
    invalid('number_contains has neither digits nor letters A to Z').at('number_contains', 'contains'),
  notReservable: (group: string) =>
    conflict(`The group ${group} does not support number selection, and so no reservations`, 'not_reservable').at(
      'group_id',
    ),
  accountHoldsUsedUp: () =>
    conflict('The account has reached its limit of numbers held at suppliers: buy or cancel one', 'holds_used_up'),
  supplierHoldsUsedUp: () =>
    conflict(
      'The supplier holds no more numbers at present: buy the number at once, or try again later',
      'holds_used_up',
    ),
  noActiveUser: (user: string) =>
    notFound(`There is no active user ${user}`).at('inbound_user_uuid', 'voice.user_uuid'),
  /** The same for a missing connection, so that callers cannot find out which ones exist. */
  wrongSignature: () => unauthorized('The signature is not the supplier’s', 'wrong_signature'),
  supplierBusy: () =>
    unavailable(
      'The supplier of this number has too many pending requests: nothing was charged, try again in a second',
      'supplier_busy',
      retryAfter(1),
    ),
  supplierGroupSoldOut: (group: string) =>
    conflict(`The group ${group} has no free number`, 'group_sold_out').at('group_id'),
  supplierUnavailable: () =>
    unavailable('The supplier of this number does not answer: nothing was charged, try again', 'supplier_unavailable'),
  notDelivered: () => conflict('The supplier did not deliver a number; nothing was charged', 'not_delivered'),
  orderPending: () =>
    conflict(
      'The number is ordered but not delivered yet. It will appear among the virtual numbers, and is charged on delivery',
      'order_pending',
    ),
  reservationEnded: (number: string, state: 'cancelled' | 'expired' | 'purchased') => {
    const code: 'reservation_cancelled' | 'reservation_expired' | 'reservation_purchased' = `reservation_${state}`
    return conflict(`The reservation of ${number} is already ${state}`, code)
  },
  duplicatePrice: (fault: string) => invalid(fault),
}
