import { errorText } from '../lib/error-text.ts'
import { hostsOf } from './database-hosts.ts'

/** The server that was tried. */
type Target = { readonly server: string; readonly host: string; readonly user: string; readonly database: string }

const notAnswering = ({ server }: Target) =>
  `${server} did not answer. Correct host and port, and let firewalls pass connections of this machine`
const notListening = ({ server }: Target, code: string) =>
  `nothing listens at ${server} (${code}). Start PostgreSQL, or correct host and port`
const unknownHost = ({ host }: Target, code: string) =>
  `the host ${host} is unknown (${code}). Correct its name, or the name servers of this machine`
const untrusted = ({ server }: Target, code: string) =>
  `the certificate of ${server} cannot be verified (${code}). Name the file of its authority in the address: sslmode=verify-full&sslrootcert=FILE`

/** Explanations by SQLSTATE, and by the codes of Node. */
const byCode: ReadonlyMap<string, (target: Target, code: string) => string> = new Map(
  Object.entries({
    '28P01': ({ server, user }) =>
      `${server} refuses the password of ${user}. Correct user and password in the address, with special characters percent-encoded`,
    '28000': ({ server, user }) =>
      `${server} refuses the login of ${user}. Create the role, and admit this machine in pg_hba.conf of the server`,
    '3D000': ({ server, user, database }) =>
      `${server} has no database ${database}. Create it with the owner ${user}, or correct its name`,
    '25006': ({ server }) =>
      `${server} is a standby or read-only. Name the primary, or all hosts of the cluster, separated by commas`,
    '42501': ({ server, user, database }) =>
      `${server} does not let ${user} create tables in ${database}. Make it the owner of the database`,
    '53300': ({ server }) =>
      `${server} has no connection left. Raise max_connections there, or end other clients of the server`,
    '57P03': ({ server }) => `${server} is starting or stopping. Start again in a moment`,
    ECONNREFUSED: notListening,
    ENOENT: notListening,
    ENOTFOUND: unknownHost,
    EAI_AGAIN: unknownHost,
    ETIMEDOUT: notAnswering,
    EHOSTUNREACH: notAnswering,
    ENETUNREACH: notAnswering,
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    CERT_HAS_EXPIRED: untrusted,
    ERR_TLS_CERT_ALTNAME_INVALID: untrusted,
    ERR_INVALID_URL: () =>
      'it is no valid address. Write postgres://user:password@host:5432/database, with special characters percent-encoded',
  } satisfies Record<string, (target: Target, code: string) => string>),
)

/** Explanations by the message, for errors of `pg` without a code. */
const byMessage: readonly (readonly [RegExp, (target: Target) => string])[] = [
  [/connection timeout|timeout expired|timeout exceeded/, notAnswering],
  [/does not support SSL/, ({ server }) => `${server} does not speak TLS. Turn it on there, or write sslmode=disable`],
]

const targetOf = (url: string): Target => {
  // A user without a host is no URL for `URL`, and one for libpq: the query names the host.
  const parsed = URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/'))
  const host = parsed?.searchParams.get('host') ?? (parsed?.hostname || 'localhost')
  const port = parsed?.searchParams.get('port') ?? (parsed?.port || '5432')
  const user = decodeURIComponent(parsed?.username ?? '') || 'the user'
  const database = decodeURIComponent(parsed?.pathname.slice(1) ?? '') || user
  return { host, server: host.startsWith('/') ? host : `${host}:${port}`, user, database }
}

const explanationOf = (error: unknown, target: Target): string | null => {
  if (!(error instanceof Error)) return null
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // A file that the address names, such as sslrootcert.
  if ('syscall' in error && error.syscall === 'open' && 'path' in error)
    return `the file ${error.path} of the address cannot be read (${code}). Correct its path, or its rights`
  const found = byCode.get(code) ?? byMessage.find(([form]) => form.test(error.message))?.[1]
  return found?.(target, code) ?? explanationOf(error.cause, target)
}

/** The answer of a host, with its fix if it is known. */
const faultText = (error: unknown, url: string): string => {
  const target = targetOf(url)
  return explanationOf(error, target) ?? `${target.server}: ${errorText(error)}`
}

/**
 * Explains why the database of an address cannot be used, with the setting and the fix, and without the password. If each
 * of several hosts failed, names each of them.
 * @param setting its name, such as DATABASE_URL
 * @returns the same error if it is another fault
 */
export const explainDatabaseFault = (error: unknown, url: string, setting: string): unknown => {
  const { urls, current, faultOf } = hostsOf(url)
  const faults = urls.map((one) => ({ one, fault: faultOf(one) }))
  if (urls.length > 1 && faults.every(({ fault }) => fault !== undefined)) {
    const texts = faults.map(({ one, fault }, i) => `(${i + 1}) ${faultText(fault, one)}`)
    return new Error(`${setting}: none of its ${urls.length} hosts can be used. ${texts.join('. ')}`, { cause: error })
  }
  const explanation = explanationOf(error, targetOf(current()))
  return explanation === null ? error : new Error(`${setting}: ${explanation}`, { cause: error })
}
