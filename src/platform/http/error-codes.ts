import { type Contract, isMetered, isRepeatable, refusalsOf } from './endpoint.ts'
import { type ProblemName, problems } from './problem.ts'

type CodesByProblem = { readonly [problem in ProblemName]?: readonly string[] }

/** Returns the codes that a description names in brackets, such as `(account_closed)` or `(no_trunk, no_voice)`. */
const bracketedCodes = (text: string): string[] =>
  [...text.matchAll(/\(([^()]*)\)/g)].flatMap(([, inside = '']) =>
    inside.split(/: |, /).filter((word) => /^[a-z0-9]+(?:_[a-z0-9]+)+$|^role$/.test(word)),
  )

/** Kind of file that an operation transfers. */
export const transferOf = ({ media, stream, reply }: Contract): 'import' | 'upload' | 'download' | 'none' => {
  if (stream) return 'import'
  if (media) return 'upload'
  return 'contentMediaType' in reply ? 'download' : 'none'
}

const overloadCodes = {
  import: ['too_many_imports', 'too_many_uploads'],
  upload: ['too_many_uploads'],
  download: ['too_many_downloads'],
  none: [],
} as const

/** Codes of refusals that the platform itself makes, whatever the operation. */
const platformCodes = (contract: Contract): CodesByProblem => {
  const { auth, browser, secure, url, proof, opensSession, scheme, refuses } = contract
  const takesSession = (auth === 'account' && scheme !== 'basic') || auth === 'operator' || auth === 'session'
  const isSandbox = url.startsWith('/sandbox/')
  return {
    invalid: [
      'invalid_request',
      'malformed_request',
      'http_version_not_supported',
      ...(auth === 'account' && scheme !== 'basic' ? ['account_required'] : []),
      ...(refuses ? ['parameter_not_supported'] : []),
    ],
    unauthorized: [
      'unauthorized',
      ...(auth === 'account' || auth === 'session' ? ['key_expired'] : []),
      ...(takesSession ? ['session_expired'] : []),
      ...(auth === 'voice' ? ['token_invalid'] : []),
    ],
    balance: isMetered(contract) ? ['quota_exceeded'] : [],
    forbidden: [
      ...(auth === 'account'
        ? [
            'account_blocked',
            'account_closed',
            'address_not_allowed',
            'scope_missing',
            'second_factor_required',
            'limit_exceeded',
          ]
        : []),
      ...(auth === 'session' ? ['address_not_allowed'] : []),
      ...(auth === 'voice' ? ['account_blocked', 'account_closed'] : []),
      ...(auth === 'account' || auth === 'operator' ? ['role'] : []),
      ...(takesSession || opensSession ? ['csrf', 'https_required'] : []),
      ...(proof ? ['reauthentication_required'] : []),
      ...(isSandbox ? ['not_sandbox_account', 'sandbox_behind_proxy'] : []),
      ...(browser ? ['origin_not_allowed'] : []),
      ...(secure ? ['https_required'] : []),
    ],
    timedOut: ['request_timeout', 'body_too_slow'],
    conflict: isRepeatable(contract) ? ['idempotency_key_reused'] : [],
    mediaType: ['unsupported_media_type', 'unsupported_content_encoding'],
    unprocessable: ['invalid_phone_number'],
    tooMany: ['too_many_failures', ...(isMetered(contract) || isSandbox ? ['too_many_requests'] : [])],
    unavailable: [
      'unavailable',
      'role_not_here',
      'too_many_key_lookups',
      'too_many_under_way',
      ...overloadCodes[transferOf(contract)],
      ...(contract.csv === undefined ? [] : ['too_many_exports']),
      ...(isSandbox ? ['sandbox_down'] : []),
    ],
  }
}

/** Returns the possible values of `error_code` for each refusal of an operation, without duplicates. */
export const errorCodesOf = (contract: Contract): CodesByProblem => {
  const platform = platformCodes(contract)
  return Object.fromEntries(
    Object.entries(refusalsOf(contract)).map(([name, description]) => {
      const problem = name as ProblemName // keys of problems
      const codes = [...(platform[problem] ?? []), ...bracketedCodes(description), ...(contract.codes?.[problem] ?? [])]
      const own = contract.errors[problem]
      const usesDefault = codes.length === 0 || (own !== undefined && contract.codes?.[problem] === undefined)
      return [problem, [...new Set([...(usesDefault ? [problems[problem].code] : []), ...codes])]]
    }),
  )
}
