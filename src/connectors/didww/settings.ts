/** What an operator says of one account at DIDWW. */
export type DidwwSettings = {
  /** Of API 3, made in the user panel. */
  readonly api_key: string
  /** The callback secret that is enabled in the user panel; callbacks are refused without one, and orders are polled. */
  readonly callback_secret?: string
  /** Default production; the sandbox is https://sandbox-api.didww.com/v3. */
  readonly base_url?: string
  /** ISO 3166-1 alpha-2 of the countries that are offered; all of them unless given. */
  readonly countries?: readonly string[]
  /** Of this process; DIDWW allows 20 for each key. Default 5: processes do not know of each other, and three of them stay
   *  below. */
  readonly requests_per_second?: number
}

/** The version whose resources this connector speaks. */
export const apiVersion = '2026-04-16'

export const production = 'https://api.didww.com/v3'
