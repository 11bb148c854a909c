/** An operator's settings of one account at DIDWW. */
export type DidwwSettings = {
  /** Key of API 3, made in the user panel. */
  readonly api_key: string
  /**
   * The callback secret that is enabled in the user panel. Without one, callbacks are refused and orders are polled.
   */
  readonly callback_secret?: string
  /** Default: production; the sandbox is https://sandbox-api.didww.com/v3. */
  readonly base_url?: string
  /** ISO 3166-1 alpha-2 of the offered countries. Default: all. */
  readonly countries?: readonly string[]
  /**
   * Limit of this process; DIDWW allows 20 per key. Default: 5, so that three processes, which do not coordinate, stay
   * below.
   */
  readonly requests_per_second?: number
}

/** The API version that this connector implements. */
export const apiVersion = '2026-04-16'

export const production = 'https://api.didww.com/v3'
