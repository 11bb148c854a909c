import { unauthorized, unavailable } from '../../platform/http/problem.ts'

export const refusals = {
  badMetricsToken: () =>
    unauthorized('Send TRUNKLINE_METRICS_TOKEN as Authorization: Bearer', 'unauthorized', {
      'www-authenticate': 'Bearer',
    }),
  consoleNotBuilt: () => unavailable('The console is not built yet. Run: node scripts/ready.mjs'),
}
