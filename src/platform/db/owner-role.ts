import pg from 'pg'
import { databaseName, ownerName } from './cluster.ts'
import { quoteIdentifier } from './identifier.ts'
import { sqlState } from './sql.ts'

// The embedded database belongs to a role without superuser rights, as which every process connects. SQL that reaches
// PostgreSQL by a fault can then neither run programs nor read files. initdb's superuser creates that role, and is used
// for nothing else. Databases of earlier versions belong to the superuser: their next start gives them to the role.

/** Objects of a catalogue that neither PostgreSQL nor an extension made. */
const isOwn = (namespace: string, object: string) =>
  `${namespace} in (select oid from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema')
    and not exists (select from pg_depend d where d.objid = ${object} and d.deptype = 'e')`

const relations = `relkind in ('r', 'p', 'v', 'm', 'S') and ${isOwn('relnamespace', 'pg_class.oid')}`
const routines = isOwn('pronamespace', 'pg_proc.oid')

/** Whether objects belong to another role than the one of the session. */
const hasOthers = `
  select exists (select from pg_class where relowner <> current_user::text::regrole and ${relations})
    or exists (select from pg_proc where proowner <> current_user::text::regrole and ${routines}) as found`

const giveToOwner = `
  do $$
  declare
    owner constant oid := '${ownerName}'::regrole;
    statement text;
  begin
    -- A sequence of a column goes with its table.
    for statement in
      select format('alter table %s owner to %I', pg_class.oid::regclass, '${ownerName}') from pg_class
      where relowner <> owner and ${relations} and not exists (
        select from pg_depend d where d.objid = pg_class.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
          and relkind = 'S')
    loop execute statement; end loop;
    for statement in
      select format('alter routine %s owner to %I', pg_proc.oid::regprocedure, '${ownerName}') from pg_proc
      where proowner <> owner and ${routines}
    loop execute statement; end loop;
    for statement in
      select format('alter schema %I owner to %I', nspname, '${ownerName}') from pg_namespace
      where nspowner = current_user::text::regrole and nspname !~ '^pg_' and nspname <> 'information_schema'
    loop execute statement; end loop;
  end $$`

/** The address of a database of the server for a role. */
type Address = (role: string, database: string) => string

const withClient = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 })
  // The rejected query reports the error; the additional event must not end the process.
  client.on('error', () => {})
  await client.connect()
  return await work(client).finally(() => client.end())
}

/** Returns whether the role can connect, and everything belongs to it. */
const isReady = (address: Address): Promise<boolean> =>
  withClient(address(ownerName, databaseName), async (client) => {
    const { rows } = await client.query<{ found: boolean }>(hasOthers)
    return rows[0]?.found === false
  }).catch((error: unknown) => {
    // 3D000: no such database. 28P01, 28000: no such role, or another password.
    if (['3D000', '28P01', '28000'].includes(sqlState(error) ?? '')) return false
    throw error
  })

/** Renames initdb's own empty database: `create database` would copy it, which takes 0.2 to 0.4 s. */
const renameDatabase = (address: Address): Promise<void> =>
  withClient(address(databaseName, 'template1'), async (client) => {
    await client.query(`alter database postgres rename to ${quoteIdentifier(databaseName)}`)
  })

/** Creates the role, or sets its password, and gives it the database, all or nothing. */
const giveDatabase = (address: Address, password: string): Promise<void> =>
  withClient(address(databaseName, databaseName), async (client) => {
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [ownerName])
    const rights = `login nosuperuser nocreatedb nocreaterole password ${client.escapeLiteral(password)}`
    const statements = [
      `${rowCount === 0 ? 'create' : 'alter'} role ${quoteIdentifier(ownerName)} ${rights}`,
      giveToOwner,
      `alter database ${quoteIdentifier(databaseName)} owner to ${quoteIdentifier(ownerName)}`,
    ]
    await client.query(`begin; ${statements.join('; ')}; commit`)
  })

/**
 * Makes the database and its owner, also after an interrupted first start. Connects once, which proves the passwords.
 * @param password of the owner
 * @param isNew whether the role cannot exist yet
 */
export const ensureOwner = async (
  address: Address,
  password: string,
  isNew: { readonly cluster: boolean; readonly owner: boolean },
): Promise<void> => {
  if (isNew.cluster) await renameDatabase(address)
  else if (!isNew.owner && (await isReady(address))) return
  await giveDatabase(address, password).catch(async (error: unknown) => {
    if (isNew.cluster || sqlState(error) !== '3D000') throw error
    await renameDatabase(address)
    await giveDatabase(address, password)
  })
}
