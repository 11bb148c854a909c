import { makeOperations } from './operations.ts'
import { operations } from './sandbox-operations.gen.ts'
import { type ClientOptions, makeTransport } from './transport.ts'
import type { SandboxOperations } from './types.gen.ts'

/** Operations of the sandbox: handsets, its clock, and examples of events. */
export type Sandbox = SandboxOperations

type SandboxClass = new (options?: ClientOptions) => Sandbox

class Client {
  constructor(options: ClientOptions = {}) {
    const transport = makeTransport(options, { header: 'x-user-api-key', variable: 'TRUNKLINE_API_KEY' })
    Object.assign(this, makeOperations(operations, transport))
  }
}

// The table of operations has the methods that the generated types declare; test/client compares them.
export const Sandbox = Client as unknown as SandboxClass
