import { type CopyStreamQuery, type CopyToStreamQuery, from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { openClient } from './database-hosts.ts'
import { prepareSession, type Sql, sql } from './sql.ts'

/** A single connection without time limits: for copying whole tables. */
export type Session = Sql & {
  /** The rows of `copy … to stdout`. */
  copyOut(text: string): CopyToStreamQuery
  /** Takes the rows of `copy … from stdin`. */
  copyIn(text: string): CopyStreamQuery
  end(): Promise<void>
}

/** @throws Error when the database cannot be reached, or is a standby */
export const openSession = async (url: string): Promise<Session> => {
  const client = await openClient(
    url,
    { connectionTimeoutMillis: 10_000, keepAlive: true, application_name: 'trunkline' },
    async (opened) => {
      await prepareSession(opened, opened.url, null)
      await opened.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    },
  )
  return {
    ...sql(client, null),
    copyOut: (text) => client.query(copyTo(text)),
    copyIn: (text) => client.query(copyFrom(text)),
    end: () => client.end(),
  }
}
