import { unauthorized } from '../../platform/http/problem.ts'

export const refusals = {
  badMetricsToken: () =>
    unauthorized('Send TRUNKLINE_METRICS_TOKEN as Authorization: Bearer', 'unauthorized', {
      'www-authenticate': 'Bearer',
    }),
}
