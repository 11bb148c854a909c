import type { Asked } from '../port.ts'

/** The error that the library throws carries a code, of HTTP or of the network. */
const codeOf = (error: unknown): number | null => {
  if (!(error instanceof Error)) return null
  const { output, data } = error as { output?: { statusCode?: unknown }; data?: unknown }
  const told = typeof data === 'number' ? data : output?.statusCode
  return typeof told === 'number' ? told : null
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The library’s own: closed, lost, timed out, not open. What was asked may have been done. */
const broken = new Set([408, 428, 440, 500, 503, 515])

/**
 * What was asked of the network, as the port has it.
 * @param repeatable the same may be asked again: it is done once
 */
export const asked = async <T>(work: () => Promise<T>, repeatable = false): Promise<Asked<T>> => {
  try {
    return { outcome: 'done', value: await work() }
  } catch (error) {
    const [code, reason] = [codeOf(error), reasonOf(error)]
    if (code === 429)
      return { outcome: 'later', seconds: 60, reason: `the network bears no more now: ${reason}`, code: '429' }
    if (code === null || broken.has(code))
      return repeatable ? { outcome: 'later', seconds: 2, reason } : { outcome: 'unknown', reason }
    return { outcome: 'refused', reason, code: String(code) }
  }
}

export const gone = { outcome: 'later', seconds: 1, reason: 'the number is not linked' } as const
