import type { ServiceResult } from '../../ports/supplier.ts'

/** Status code of an error thrown by the library: HTTP or network. */
const codeOf = (error: unknown): number | null => {
  if (!(error instanceof Error)) return null
  const { output, data } = error as { output?: { statusCode?: unknown }; data?: unknown }
  const code = typeof data === 'number' ? data : output?.statusCode
  return typeof code === 'number' ? code : null
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The library's own codes: closed, lost, timed out, not open. The request may have been executed. */
const connectionErrors = new Set([408, 428, 440, 500, 503, 515])

/**
 * Maps the result of a network request to the port's outcome.
 * @param repeatable true when a repeated request has no further effect
 */
export const requestOutcome = async <T>(work: () => Promise<T>, repeatable = false): Promise<ServiceResult<T>> => {
  try {
    return { outcome: 'done', value: await work() }
  } catch (error) {
    const [code, reason] = [codeOf(error), reasonOf(error)]
    if (code === 429)
      return { outcome: 'later', seconds: 60, reason: `the network limits requests now: ${reason}`, code: '429' }
    if (code === null || connectionErrors.has(code))
      return repeatable ? { outcome: 'later', seconds: 2, reason } : { outcome: 'unknown', reason }
    return { outcome: 'refused', reason, code: String(code) }
  }
}

export const notLinked = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const
