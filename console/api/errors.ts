/** A refusal of the API, or a request that did not reach it. */
export class ApiError extends Error {
  /** HTTP status; 0 if the server was not reached. */
  readonly status: number
  /** `error_code`, or `no_connection`. */
  readonly code: string
  readonly requestId: string | undefined
  /** JSON pointer of the field that is wrong, such as `/to_number`. */
  readonly field: string | undefined
  /** Seconds, from Retry-After. */
  readonly retryAfter: number | undefined
  /** All fields of the response. */
  readonly body: Readonly<Record<string, unknown>>

  constructor(status: number, body: Readonly<Record<string, unknown>>, retryAfter?: number) {
    super(textOf(body.error_message) ?? 'The server cannot be reached.')
    this.name = 'ApiError'
    this.status = status
    this.code = textOf(body.error_code) ?? (status === 0 ? 'no_connection' : 'unknown')
    this.requestId = textOf(body.request_id)
    this.field = textOf(body.field)
    this.retryAfter = retryAfter
    this.body = body
  }

  /** The message at its field, as forms show it. */
  get fields(): Readonly<Record<string, string>> | undefined {
    return this.field === undefined ? undefined : { [this.field]: this.message }
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** True if the same request may succeed a little later. */
export const isPassing = ({ status }: ApiError): boolean => [0, 408, 429, 502, 503, 504].includes(status)

/** True if the outcome of the request is not known: it may have had its effect. */
export const isUncertain = ({ status }: ApiError): boolean => status === 0 || status >= 500

/** Returns any thrown value as an ApiError. Other errors are defects: they are reported on the console too. */
export const asApiError = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error
  console.error(error)
  return new ApiError(0, { error_code: 'page_error', error_message: String(error) })
}
