import { join } from 'node:path'
import { contracts as all, compatContracts } from '../src/contracts.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'

const root = join(import.meta.dirname, '..')
const files = (process.env.TRUNKLINE_TEST_CONTRACTS ?? '').split(',').filter((file) => file !== '')

const chosen = new Set(
  (await Promise.all(files.map((file): Promise<object> => import(join(root, file))))).flatMap(Object.values),
)

/** The endpoints that a test of every endpoint walks. */
export const walkedContracts: readonly Contract[] = files.length === 0 ? all : all.filter((one) => chosen.has(one))

/** The endpoints in the shape of Twilio that such a test walks. */
export const walkedCompatContracts: readonly Contract[] =
  files.length === 0 ? compatContracts : compatContracts.filter((one) => chosen.has(one))

/** Whether a run of `npm test -- --changed` restricts the walk to the contracts of what changed. */
export const isWalkRestricted = files.length > 0
