import { clientClass } from './client-class.ts'
import { operations } from './operator-operations.gen.ts'
import type { OperatorOperations } from './types.gen.ts'

/** Operations of the operator of an installation. */
export type Operator = OperatorOperations

export const Operator = clientClass<Operator>(operations, {
  header: 'x-operator-key',
  variable: 'TRUNKLINE_OPERATOR_KEY',
})
