import { longForm, needs } from '../needs.ts'
import { oldest } from '../servers.ts'

/** The options of tests that start a cluster: only the long form runs them, with the programs that they need. */
export const clusterForm = (): { skip: false | string } => {
  const long = longForm()
  if (long.skip) return long
  const options = [needs('PostgreSQL 15', oldest !== null), needs('patroni'), needs('etcd'), needs('haproxy')]
  return options.find(({ skip }) => skip !== false) ?? long
}
