import { unavailable } from '../../platform/http/problem.ts'

export const refusals = {
  stopping: () => unavailable('The server is stopping', 'stopping'),
  databaseReadOnly: () =>
    unavailable('The database is read-only: it is a standby, or was set read-only', 'database_read_only'),
  starting: () => unavailable('The server is starting', 'starting'),
  roleNotHere: (role: string) =>
    unavailable(`This process does not run the role ${role}: see TRUNKLINE_ROLES`, 'role_not_here'),
}
