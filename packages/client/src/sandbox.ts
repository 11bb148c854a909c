import { clientClass } from './client-class.ts'
import { operations } from './sandbox-operations.gen.ts'
import type { SandboxOperations } from './types.gen.ts'

/** Operations of the sandbox: handsets, its clock, and examples of events. */
export type Sandbox = SandboxOperations

export const Sandbox = clientClass<Sandbox>(operations, { header: 'x-user-api-key', variable: 'TRUNKLINE_API_KEY' })
