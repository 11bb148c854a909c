import type { Db } from '../src/platform/db/sql.ts'
import { uuid } from '../src/platform/lib/id.ts'

/** Creates a connection to the sandbox's chat network that no process runs. @returns its id */
export const idleConnection = async (db: Db): Promise<string> => {
  const id = uuid()
  await db.run`
    insert into connections (id, kind, name, settings, enabled) values (${id}, 'sandbox', ${`idle ${id}`}, ${{}}, false)`
  return id
}
