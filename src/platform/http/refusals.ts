import {
  conflict,
  forbidden,
  headersTooLarge,
  insufficient,
  internal,
  invalid,
  mediaType,
  methodNotAllowed,
  notFound,
  retryAfter,
  timedOut,
  tooLarge,
  tooMany,
  unauthorized,
  unavailable,
  unprocessable,
} from './problem.ts'

const nothingImported = (why: string) => `Nothing was imported: ${why}`
const badValue = (field: string, requirement: string) => `${field} ${requirement}`

export const refusals = {
  apiCallsUsedUp: (quota: number) => insufficient(`The quota of ${quota} API calls is used up`, 'quota_exceeded'),
  badCursor: () => invalid('cursor must be a next_cursor of this list').at('cursor'),
  pageBeyond: (field: string, page: number, rows: number) =>
    invalid(
      `${field} ${page} begins beyond the first ${rows.toLocaleString('en')} rows: page by cursor, with the next_cursor of the page before`,
    ).at(field),
  tooManyKeyLookups: () =>
    unavailable(
      'Too many keys of this address are being checked: try again in a second',
      'too_many_key_lookups',
      retryAfter(1),
    ),
  missingKey: () => unauthorized('The header X-User-API-Key is missing: send the API key of your account in it'),
  wrongKey: () => unauthorized('The API key is not valid, or was revoked'),
  wrongBasic: () =>
    unauthorized(
      'The account SID or the token is missing or not valid. Make credentials with POST /open/compat/credentials',
      undefined,
      { 'www-authenticate': 'Basic realm="Trunkline", charset="UTF-8"' },
    ),
  parameterNotOffered: (name: string) =>
    invalid(`The parameter ${name} is not supported: send the request without it`, 'parameter_not_supported').at(name),
  fileInForm: (field: string) => invalid(`${field.slice(0, 60)} is a file: forms are taken without files`),
  tooManyFormFields: (limit: number) => invalid(`The form must have at most ${limit} fields`),
  keyExpired: (at: string) =>
    unauthorized(
      `The API key expired at ${at}: use another key of the account, or request a new one from its administrator`,
      'key_expired',
    ),
  addressNotAllowed: (address: string) =>
    forbidden(
      `The API key may not be used from the address ${address}: use it from its allowed_addresses, or another key here`,
      'address_not_allowed',
    ),
  scopeMissing: (scope: string) =>
    forbidden(
      `The API key lacks the scope ${scope}: use a key that has it, or create one with POST /open/keys or through the operator`,
      'scope_missing',
    ),
  keyLimited: (limit: string) =>
    forbidden(
      `The API key is limited by ${limit}, and people, links and voice tokens would not be: use a key without limits, or sign in as a person with the right people`,
      'key_limited',
    ),
  newKeyExceedsYours: (reason: string) => forbidden(`The new key must not exceed yours. ${reason}`, 'exceeds_own_key'),
  roleExceedsYours: (role: string) =>
    forbidden(`Your rights do not include those of the role ${role}: ask an owner of the account`, 'role'),
  makesNone: (kind: string) => forbidden(`The credential of this request makes no ${kind}: use another one`, 'role'),
  wrongOperatorKey: () => unauthorized('The header X-Operator-Key is missing or has no valid operator key'),
  wrongRole: () =>
    forbidden(
      'This operator key has the role observer, and this request needs the role operator: use a key with that role',
      'role',
    ),
  wrongToken: () =>
    unauthorized(
      'The header Authorization must be Bearer with a valid token of POST /open/sdk/access-token: this one is missing, expired or revoked',
      'token_invalid',
    ),
  missingSession: () => unauthorized('There is no session: sign in with POST /console/session, and send its cookie'),
  sessionExpired: () =>
    unauthorized('The session ended or expired: sign in again with POST /console/session', 'session_expired'),
  twoCredentials: (header: string) =>
    invalid(`The request has the header ${header} and the cookie of a session: send one of them`),
  foreignRequest: (why: string) =>
    forbidden(`A request with the cookie of a session must come from the console: ${why}`, 'csrf'),
  accountRequired: () =>
    invalid(
      'The session can act for several accounts: name one in the header X-Account. GET /console/session lists them',
      'account_required',
    ),
  notOwnAccount: () =>
    forbidden('The session may not act for the account in X-Account: GET /console/session lists its accounts', 'role'),
  sessionLacks: (capability: string) =>
    forbidden(`Your role lacks ${capability}: ask an owner of the account for another role`, 'role'),
  secondFactorMissing: () =>
    forbidden('The account requires a second factor: set one up under You, Security', 'second_factor_required'),
  sessionNoOperator: () =>
    forbidden('The session has no rights in the installation: sign in as an operator or with an operator key', 'role'),
  sessionObserver: () =>
    forbidden('The session has the role observer, and this request needs the role operator', 'role'),
  reauthenticationRequired: () =>
    forbidden(
      'The session must prove itself again before this request: send the password or key to POST /console/session/proof',
      'reauthentication_required',
    ),
  signInNeedsHttps: () =>
    forbidden('Sessions are for HTTPS, or HTTP on this machine: call this endpoint over https', 'https_required'),
  accountClosed: () => forbidden('The account is closed: ask the operator for another one', 'account_closed'),
  notSandboxAccount: () =>
    forbidden(
      'The account is not a sandbox account: an operator can mark it with PATCH /operator/accounts/{uuid} {"sandbox": true}',
      'not_sandbox_account',
    ),
  sandboxBehindProxy: () =>
    forbidden(
      'The request came through a proxy, and the sandbox is on by default only: set TRUNKLINE_SANDBOX to true or false',
      'sandbox_behind_proxy',
    ),
  httpsRequired: () => forbidden('Tokens travel over HTTPS only: call this endpoint over https', 'https_required'),
  idempotencyKeyReused: () =>
    conflict(
      'This Idempotency-Key was used with another body or query: use a new key for a new request',
      'idempotency_key_reused',
    ),
  idempotencyKeyTooLong: () => invalid('Idempotency-Key must be at most 255 characters long'),
  disconnected: () => timedOut('The connection was closed before the request could start'),
  databaseUnavailable: () =>
    unavailable('The database cannot be reached at the moment: try again', undefined, retryAfter(1)),
  methodNotAllowed: (method: string, allow: string) =>
    methodNotAllowed(`${method} is not possible here: use ${allow}`, undefined, {
      allow,
    }),
  internalError: (requestId: string) =>
    internal(`Something went wrong on our side; report the request id ${requestId}`),
  unknownPath: (path: string | undefined) => notFound(`There is nothing at ${path}`, 'unknown_path'),
  headersTooLarge: () => headersTooLarge('The headers of the request are too large'),
  requestTooSlow: () => timedOut('The request took too long to arrive'),
  malformedHttp: () => invalid('The request is not valid HTTP', 'malformed_request'),
  badExpectation: () => invalid('Expect can only be 100-continue', 'malformed_request'),
  originNotAllowed: (origin: string) =>
    forbidden(`Pages of ${origin} may not connect: add the origin to TRUNKLINE_CORS_ORIGINS`, 'origin_not_allowed'),
  databaseUnreachable: () => unavailable('The database cannot be reached at the moment'),
  serverStopping: () => unavailable('The server is stopping: try again in a moment'),
  upgradeFailed: () => internal('Something went wrong on our side'),
  bodyTooSlow: (bytesPerSecond: number) =>
    timedOut(`The body arrived slower than ${bytesPerSecond} bytes per second: send it faster`, 'body_too_slow', {
      connection: 'close',
    }),
  unsupportedMediaType: (expected: string, type: string) => mediaType(`content-type must be ${expected}, not ${type}`),
  badPhoneNumber: (number: string) =>
    unprocessable(`${number} is not a phone number in E.164 format`, 'invalid_phone_number'),
  badRequest: () => invalid('The request is not valid'),
  bodyNotAnObject: () => invalid('The body must be a JSON object'),
  badQueryEscapes: () => invalid('Escapes in the query must be valid UTF-8'),
  badText: () => invalid('Text must not contain U+0000 or half of a surrogate pair'),
  nestedTooDeep: (limit: number) => invalid(`The body must not be nested more than ${limit} deep`),
  linesRejected: (why: string) => unprocessable(nothingImported(why), 'invalid_csv'),
  fileRejected: (why: string, code: 'invalid_csv' | 'invalid_file', fields: Record<string, unknown>) =>
    invalid(nothingImported(why), code, {}, fields),
  tooManyFailures: (address: string, seconds: number) =>
    tooMany(
      `Too many wrong keys or tokens came from ${address}: try again in ${seconds} s. Right ones are not affected`,
      'too_many_failures',
      retryAfter(seconds),
    ),
  accountBlocked: (reason: string | null) =>
    forbidden(`The account is blocked${reason ? `: ${reason}` : ''}`, 'account_blocked'),
  httpVersionNotSupported: (version: string) =>
    invalid(`HTTP/${version} is not supported: use HTTP/1.1`, 'http_version_not_supported'),
  missingHost: () => invalid('The header Host is missing', 'malformed_request'),
  repeatedHeader: (name: string) =>
    invalid(`The header ${name} came more than once: send it once`, 'malformed_request'),
  contentEncoding: () =>
    mediaType('Content-Encoding must be identity: send the body without compression', 'unsupported_content_encoding', {
      'accept-encoding': 'identity',
    }),
  limitExceeded: (name: string, limit: number, unit: string, fix: string) =>
    forbidden(
      `The account may have ${limit} ${unit}: ${fix}, or ask the operator to raise the limit ${name}`,
      'limit_exceeded',
      {},
      { limit: name },
    ),
  tooManyRequests: (rate: number, seconds: number, policy: string) =>
    tooMany(`More than ${rate} requests a minute: try again in ${seconds} s`, 'too_many_requests', {
      'retry-after': String(seconds),
      ratelimit: `"requests";r=0;t=${seconds}`,
      'ratelimit-policy': policy,
    }),
  tooManyUnderWay: () =>
    unavailable(
      'Too many requests of the account are under way: try again in a second',
      'too_many_under_way',
      retryAfter(1),
    ),
  tooManyUploads: () =>
    unavailable(
      'Too many bytes of the account are being uploaded: try again in a second',
      'too_many_uploads',
      retryAfter(1),
    ),
  tooManyImports: () =>
    unavailable('Too many imports are under way: try again in a second', 'too_many_imports', retryAfter(1)),
  tooManyDownloads: () =>
    unavailable(
      'Too many downloads of the account are under way: try again in a second',
      'too_many_downloads',
      retryAfter(1),
    ),
  tooManyExports: () =>
    unavailable(
      'An export of the account is under way: wait for its end, or try again in a second',
      'too_many_exports',
      retryAfter(1),
    ),
  bodyTooLarge: (message: string) => tooLarge(message),
  malformedRequest: (message: string) => invalid(message, 'malformed_request'),
  unknownField: (field: string, closest: string | null) =>
    invalid(`There is no field ${field}${closest === null ? '' : `; did you mean ${closest}?`}`),
  badField: (field: string, requirement: string) => invalid(badValue(field, requirement)),
  badPhoneField: (field: string, requirement: string) =>
    unprocessable(badValue(field, requirement), 'invalid_phone_number'),
}
