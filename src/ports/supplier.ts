import type { LinkState } from './sms.ts'

/** Result of a request to an external service. */
export type ServiceResult<T> =
  | { readonly outcome: 'done'; readonly value: T }
  /** A permanent refusal. Reason and code are the service's own; not every service gives a code. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly code?: string }
  /** The service did nothing. The request may be repeated after `seconds`. */
  | { readonly outcome: 'later'; readonly seconds: number; readonly reason: string; readonly code?: string }
  /** The answer was lost; the service may or may not have done it. Only for requests that change something there. */
  | { readonly outcome: 'unknown'; readonly reason: string }

/** A price of a group's numbers: decimal US dollars, once and per month. `channels`: concurrent calls included. */
export type SupplierOffer = {
  readonly sku: string
  readonly setup: string
  readonly monthly: string
  readonly channels: number
}

/** Numbers of the same country, area and type. Ids are the supplier's. */
export type SupplierGroup = {
  readonly id: string
  /** ISO 3166-1 alpha-2, and the calling code. */
  readonly country: string
  readonly callingCode: string
  readonly type: 'global' | 'local' | 'mobile' | 'national' | 'sharedcost' | 'tollfree'
  /** Digits after the calling code. */
  readonly prefix: string
  readonly area: string
  /** `code`: subdivision by ISO 3166-2, without the country. */
  readonly region: { readonly name: string; readonly code: string | null } | null
  readonly city: string | null
  /** The supplier's names, such as `voice_in` and `sms_in`. */
  readonly features: readonly string[]
  readonly available: number
  /** Whether the buyer may choose a number. Otherwise the supplier picks one of the group. */
  readonly selectable: boolean
  /** Requirements of the regulator for the buyer; null if there are none. */
  readonly registration: string | null
  readonly offers: readonly SupplierOffer[]
}

/** A number that is for sale; `number` is E.164. */
export type SupplierNumber = { readonly id: string; readonly group: string | null; readonly number: string }

/** `until`: Unix milliseconds of the real clock. */
export type SupplierReservation = { readonly id: string; readonly until: number }

export type SupplierOrder = { readonly id: string; readonly state: 'pending' | 'completed' | 'canceled' }

export type SupplierDelivery = { readonly id: string; readonly number: string; readonly awaitsRegistration: boolean }

/** A company that sells numbers. No method throws, and every wait is bounded. */
export type NumberSupplier = {
  /** Returns a page of the groups. Pages count from 1; `next` is null on the last page. */
  groups(page: number): Promise<ServiceResult<{ groups: readonly SupplierGroup[]; next: number | null }>>
  /** Returns a random selection of free numbers, of a group if given, that contain these digits. */
  available(group: string | null, digits: string): Promise<ServiceResult<readonly SupplierNumber[]>>
  /** Reserves a number under an id of ours, by which `reservation` finds it. */
  reserve(number: string, ourId: string): Promise<ServiceResult<SupplierReservation>>
  reservation(ourId: string): Promise<ServiceResult<SupplierReservation | null>>
  cancelReservation(id: string): Promise<ServiceResult<null>>
  /** Orders a number that is in stock. After `unknown`, call `findOrder` before another attempt. */
  order(order: {
    /** Our id of the order, at most 100 characters. */
    readonly reference: string
    readonly sku: string
    readonly item: { readonly number: string } | { readonly reservation: string } | 'any'
    /** URL that the supplier calls when the order has ended. */
    readonly callback: string | null
  }): Promise<ServiceResult<SupplierOrder>>
  findOrder(reference: string): Promise<ServiceResult<SupplierOrder | null>>
  orderState(id: string): Promise<ServiceResult<SupplierOrder>>
  /** Returns the numbers of a completed order. */
  deliveredNumbers(order: string): Promise<ServiceResult<readonly SupplierDelivery[]>>
  /** Stops the renewal of a number. Idempotent. */
  stopRenewal(id: string): Promise<ServiceResult<null>>
  /** Makes a small request and returns a summary of the answer. */
  check(): Promise<ServiceResult<string>>
  /** Whether the supplier signed a callback to this address with these parameters. */
  isGenuine(url: string, parameters: ReadonlyMap<string, string>, signature: string): boolean
  state(): LinkState
}
