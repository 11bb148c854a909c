/** Kinds of refusal: HTTP status and default `error_code`. */
export const problems = {
  invalid: { status: 400, code: 'invalid_request' },
  unauthorized: { status: 401, code: 'unauthorized' },
  balance: { status: 402, code: 'insufficient_balance' },
  forbidden: { status: 403, code: 'forbidden' },
  notFound: { status: 404, code: 'not_found' },
  methodNotAllowed: { status: 405, code: 'method_not_allowed' },
  notSupported: { status: 406, code: 'not_supported' },
  timedOut: { status: 408, code: 'request_timeout' },
  conflict: { status: 409, code: 'conflict' },
  gone: { status: 410, code: 'gone' },
  tooLarge: { status: 413, code: 'body_too_large' },
  mediaType: { status: 415, code: 'unsupported_media_type' },
  unprocessable: { status: 422, code: 'unprocessable' },
  tooMany: { status: 429, code: 'too_many_requests' },
  headersTooLarge: { status: 431, code: 'headers_too_large' },
  internal: { status: 500, code: 'internal_error' },
  unavailable: { status: 503, code: 'unavailable' },
} as const

export type ProblemName = keyof typeof problems

/** A refusal that is part of the contract. Any other error is a bug: it is logged, and answered 500 without detail. */
export class Problem extends Error {
  readonly problem: ProblemName
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  /** Additional fields of the body, as the contract defines them. */
  readonly extraFields: Readonly<Record<string, unknown>>

  constructor(
    problem: ProblemName,
    message: string,
    code?: string,
    headers: Record<string, string> = {},
    extraFields: Record<string, unknown> = {},
  ) {
    super(message)
    this.problem = problem
    this.code = code ?? problems[problem].code
    this.headers = headers
    this.extraFields = extraFields
  }

  /** The field at fault: a JSON pointer, or names of which the request has one. See error-field.ts. */
  fields: readonly string[] = []

  /**
   * Names the field that is at fault, for forms.
   * @param fields a JSON pointer such as `/query/after`; or names, of which the first that the request has is meant.
   * Names of inner fields have dots: `requirements.0.value`
   * @returns this
   */
  at(...fields: readonly string[]): this {
    this.fields = fields
    return this
  }

  get status(): number {
    return problems[this.problem].status
  }
}

/** Throws a refusal within an expression: `found ?? refuse(refusals.unknownUser(id))`. */
export const refuse = (problem: Problem): never => {
  throw problem
}

type MakeProblem = (
  message: string,
  code?: string,
  headers?: Record<string, string>,
  extraFields?: Record<string, unknown>,
) => Problem

const maker =
  (problem: ProblemName): MakeProblem =>
  (message, code, headers, extraFields) =>
    new Problem(problem, message, code, headers, extraFields)

// Makers of refusals. Only the tables of refusals (`refusals.ts`) use them: see test/refusals.test.ts.
export const invalid = maker('invalid')
export const unauthorized = maker('unauthorized')
export const insufficient = maker('balance')
export const forbidden = maker('forbidden')
export const notFound = maker('notFound')
export const methodNotAllowed = maker('methodNotAllowed')
export const notSupported = maker('notSupported')
export const timedOut = maker('timedOut')
export const conflict = maker('conflict')
export const gone = maker('gone')
export const tooLarge = maker('tooLarge')
export const mediaType = maker('mediaType')
export const unprocessable = maker('unprocessable')
export const tooMany = maker('tooMany')
export const headersTooLarge = maker('headersTooLarge')
export const internal = maker('internal')
export const unavailable = maker('unavailable')

/** Returns the header that says when to try again. */
export const retryAfter = (seconds: number): Record<string, string> => ({ 'retry-after': String(seconds) })

/** `full` has `success: false`; `brief` is the shape of SMS operations and of the deletion of a number. `compat` is that of
 *  a compatible interface, which makes its bodies itself (`CompatRefusal`). */
export type Shape = 'full' | 'brief' | 'compat'

/** The refusal of a compatible interface. Its status may differ from that of the problem. */
export type CompatRefusal = { readonly status: number; readonly body: object }

export type ErrorBody = {
  success?: false
  error: true
  error_message: string
  error_code: string
  field?: string
  request_id: string
  detail?: string
}

/** Returns the body of a refusal. On 401 `detail` repeats the message, as some clients read only that field.
 *  @param field JSON pointer of the field at fault */
export const errorBody = (
  shape: Exclude<Shape, 'compat'>,
  problem: Problem,
  requestId: string,
  field = problem.fields.find((one) => one.startsWith('/')),
): ErrorBody => ({
  ...(shape === 'full' || problem.status === 401 ? { success: false } : {}),
  error: true,
  error_message: problem.message,
  ...(problem.status === 401 ? { detail: problem.message } : {}),
  error_code: problem.code,
  ...(field === undefined ? {} : { field }),
  request_id: requestId,
  ...problem.extraFields,
})
