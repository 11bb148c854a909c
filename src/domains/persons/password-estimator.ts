import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { estimatorLimits } from './limits.ts'

const load = async (): Promise<ZxcvbnFactory> => {
  const [core, common] = await Promise.all([import('@zxcvbn-ts/core'), import('@zxcvbn-ts/language-common')])
  const { dictionary, adjacencyGraphs: graphs } = common
  return new core.ZxcvbnFactory({ dictionary, graphs, ...estimatorLimits })
}

let loaded: Promise<ZxcvbnFactory> | undefined

/**
 * Returns the estimator of guesses, loaded with the first new password. Measured: its list of 49,000 common passwords
 * takes 0.2 s of processor time and 8 MB, which each start of the platform would need.
 */
export const loadEstimator = (): Promise<ZxcvbnFactory> => {
  loaded ??= load()
  return loaded
}
