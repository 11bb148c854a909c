import { makeOperations } from './operations.ts'
import { operations } from './operator-operations.gen.ts'
import { type ClientOptions, makeTransport } from './transport.ts'
import type { OperatorOperations } from './types.gen.ts'

/** Operations of the operator of an installation. */
export type Operator = OperatorOperations

type OperatorClass = new (options?: ClientOptions) => Operator

class Client {
  constructor(options: ClientOptions = {}) {
    const transport = makeTransport(options, { header: 'x-operator-key', variable: 'TRUNKLINE_OPERATOR_KEY' })
    Object.assign(this, makeOperations(operations, transport))
  }
}

// The table of operations has the methods that the generated types declare; test/client compares them.
export const Operator = Client as unknown as OperatorClass
