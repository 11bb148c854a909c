/** The program that the calls to a number run. `application`: uuid without prefix; `shape`: of its requests. */
export type NumberVoice =
  | { readonly kind: 'application'; readonly application: string; readonly shape: 'native' | 'twilio' }
  | {
      readonly kind: 'url'
      readonly url: string
      readonly method: 'GET' | 'POST'
      readonly fallback_url: string | null
      readonly fallback_method: 'GET' | 'POST'
      /** Gets the ends of calls that come in, in the same shape. */
      readonly status_url?: string | null
      readonly status_method?: 'GET' | 'POST'
      readonly shape: 'native' | 'twilio'
    }
