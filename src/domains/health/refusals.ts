import { unavailable } from '../../platform/http/problem.ts'

export const refusals = {
  stopping: () => unavailable('The server is stopping', 'stopping'),
  databaseReadOnly: () =>
    unavailable('The database is read-only: it is a standby, or was set read-only', 'database_read_only'),
  databaseFull: () =>
    unavailable('The disk of the database is full: make room there. The process recovers by itself', 'database_full'),
  databaseHangs: () =>
    unavailable(
      'The database stored no write within 2 s: see its load, its disk and its synchronous standby',
      'database_hangs',
    ),
  starting: () => unavailable('The server is starting', 'starting'),
  roleNotHere: (role: string) =>
    unavailable(
      `This process does not have the role ${role}: ask a process that has it, or see TRUNKLINE_ROLES`,
      'role_not_here',
    ),
}
