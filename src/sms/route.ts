import type { Connection } from '../connections/ops.ts'

type Fit = { readonly settings: Pick<Connection<'smpp'>['settings'], 'prefixes' | 'priority' | 'sandbox' | 'bind'> }

const defaultPriority = 100

/** The length of the longest prefix that the destination begins with: 0 for a connection that carries all, -1 for none. */
const fitOf = ({ settings }: Fit, digits: string): number => {
  const { prefixes = [] } = settings
  if (prefixes.length === 0) return 0
  return Math.max(-1, ...prefixes.filter((prefix) => digits.startsWith(prefix)).map(({ length }) => length))
}

/**
 * The connections that may carry a text to an E.164 destination, the best first: longest prefix, then lowest priority.
 * Sandbox connections carry only what no other does.
 */
export const routesFor = <C extends Fit>(connections: readonly C[], destination: string): C[] => {
  const digits = destination.slice(1)
  const fitting = connections
    .map((connection) => ({ connection, fit: fitOf(connection, digits) }))
    .filter(({ connection, fit }) => fit >= 0 && connection.settings.bind !== 'receiver')
  const real = fitting.filter(({ connection }) => !connection.settings.sandbox)
  return (real.length > 0 ? real : fitting)
    .sort(
      (a, b) =>
        b.fit - a.fit ||
        (a.connection.settings.priority ?? defaultPriority) - (b.connection.settings.priority ?? defaultPriority),
    )
    .map(({ connection }) => connection)
}
