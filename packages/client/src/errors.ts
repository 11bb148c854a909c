import type { ErrorCode } from './types.gen.ts'

/** Base of all errors that this package throws. */
export class TrunklineError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** No response arrived: the server could not be reached, or the connection broke. `cause` has the reason. */
export class ConnectionError extends TrunklineError {}

/** No response arrived within the time limit. */
export class TimeoutError extends ConnectionError {}

/** The signature of a webhook is missing, wrong or too old. */
export class WebhookSignatureError extends TrunklineError {}

/** Description of a refusal, as the server gives it. */
export type Refusal = {
  readonly status: number
  /** `error_code` of the response. Compare this, not the message. */
  readonly code: ErrorCode | (string & {})
  readonly message: string
  /** JSON pointer of the field at fault, such as `/to_number`, `/query/since` or `/path/message_uuid`. */
  readonly field?: string | undefined
  /** Identifies the request in the log of the server. */
  readonly requestId: string | undefined
  /** Seconds after which the server accepts the request again. */
  readonly retryAfter: number | undefined
  /** Parsed body of the response, with additional fields such as `limit`. */
  readonly body: unknown
}

/** The server refused the request. */
export class ApiError extends TrunklineError implements Refusal {
  readonly status: number
  readonly code: ErrorCode | (string & {})
  readonly field: string | undefined
  readonly requestId: string | undefined
  readonly retryAfter: number | undefined
  readonly body: unknown

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.status = refusal.status
    this.code = refusal.code
    this.field = refusal.field
    this.requestId = refusal.requestId
    this.retryAfter = refusal.retryAfter
    this.body = refusal.body
  }
}

/** 400, 413, 415: a field is missing or wrong. */
export class InvalidRequestError extends ApiError {}
/** 401: the key is missing, wrong or expired. */
export class AuthenticationError extends ApiError {}
/** 402: the balance does not cover the price. */
export class InsufficientBalanceError extends ApiError {}
/** 403: the account, the key or the number may not do this. */
export class PermissionError extends ApiError {}
/** 404: the account has no such thing. */
export class NotFoundError extends ApiError {}
/** 409: the state of the thing does not permit this. */
export class ConflictError extends ApiError {}
/** 406, 422: the request is well-formed but cannot be fulfilled. */
export class UnprocessableError extends ApiError {}
/** 429: too many requests. */
export class RateLimitError extends ApiError {}
/** 5xx: the server failed, is overloaded or stops. */
export class ServerError extends ApiError {}

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: InsufficientBalanceError,
  403: PermissionError,
  404: NotFoundError,
  406: UnprocessableError,
  409: ConflictError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: UnprocessableError,
  429: RateLimitError,
}

/** Returns the error of a refusal, of the class for its status. */
export const apiError = (refusal: Refusal): ApiError => {
  const Class = classes[refusal.status] ?? (refusal.status >= 500 ? ServerError : ApiError)
  return new Class(refusal)
}
