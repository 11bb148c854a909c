import type { CompatRefusal, Problem, ProblemName } from '../../platform/http/problem.ts'

/** Code of Twilio's error dictionary, and its status if it differs from ours. */
type Code = { readonly code: number; readonly status?: number }

/** By the code of a refusal of the domains. */
const byCode: ReadonlyMap<string, Code> = new Map(
  Object.entries({
    account_blocked: { code: 20005, status: 401 },
    account_closed: { code: 20005, status: 401 },
    // An account without money is suspended there.
    insufficient_balance: { code: 20005, status: 402 },
    quota_exceeded: { code: 20005, status: 402 },
    opted_out: { code: 21610, status: 400 },
    media_unavailable: { code: 21620, status: 400 },
    a2p_us_unsupported: { code: 21408, status: 400 },
    destination_not_priced: { code: 21612, status: 400 },
    number_suspended: { code: 21606, status: 400 },
    sandbox_number: { code: 21606, status: 400 },
    number_unavailable: { code: 21422, status: 400 },
    group_sold_out: { code: 21452, status: 400 },
    supplier_unavailable: { code: 20503 },
    invalid_phone_number: { code: 21421, status: 400 },
    caller_id: { code: 21210, status: 400 },
    not_e164: { code: 21211, status: 400 },
    emergency: { code: 21215, status: 400 },
    destination_not_allowed: { code: 21215, status: 400 },
    unknown_user: { code: 21211, status: 400 },
    spend_limit: { code: 20005, status: 402 },
    key_spend_limit: { code: 20005, status: 402 },
  }),
)

/** By the kind of a refusal. */
const byProblem: { readonly [problem in ProblemName]: Code } = {
  invalid: { code: 20001 },
  unauthorized: { code: 20003 },
  balance: { code: 20005 },
  forbidden: { code: 20403 },
  notFound: { code: 20404 },
  methodNotAllowed: { code: 20004 },
  notSupported: { code: 20406 },
  timedOut: { code: 20408 },
  conflict: { code: 20409 },
  gone: { code: 20404 },
  tooLarge: { code: 20413 },
  mediaType: { code: 20415 },
  unprocessable: { code: 20001, status: 400 },
  tooMany: { code: 20429 },
  headersTooLarge: { code: 20431 },
  internal: { code: 20500 },
  unavailable: { code: 20503 },
}

/** By the field at fault, where the kind alone does not say it: a sender that is not a number of the account, files that
 *  no carrier takes, or a validity out of its range. */
const byField = ({ problem, fields }: Problem): Code | null => {
  if (problem === 'notFound' && fields.includes('from_number')) return { code: 21606, status: 400 }
  if (problem === 'notSupported' && fields.includes('media_urls')) return { code: 21612 }
  return problem === 'invalid' && fields.some((one) => one.endsWith('/ValidityPeriod')) ? { code: 21624 } : null
}

/** Returns the code of a refusal, and the status that Twilio's interface has for it. */
export const refusalCodeOf = (problem: Problem): { readonly code: number; readonly status: number } => {
  const own = problem.extraFields.code
  if (typeof own === 'number') return { code: own, status: problem.status }
  const { code, status = problem.status } = byCode.get(problem.code) ?? byField(problem) ?? byProblem[problem.problem]
  return { code, status }
}

/**
 * Makes the bodies of refusals.
 * @param publicUrl of the page about errors, `more_info`
 */
export const makeCompatRefusal =
  (publicUrl: () => string) =>
  (problem: Problem): CompatRefusal => {
    const { code, status } = refusalCodeOf(problem)
    const page = problem.code === 'not_offered' ? 'what-is-not-offered' : 'errors'
    const more_info = `${publicUrl().replace(/\/$/, '')}/docs/twilio#${page}`
    return { status, body: { code, message: problem.message, more_info, status } }
  }
