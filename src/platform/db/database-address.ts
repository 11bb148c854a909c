import { SettingError } from '../lib/setting.ts'

/** Most hosts of an address: each is tried within one request. */
const maxHosts = 8

const example = 'wants an address such as postgres://user:password@host-a:5432,host-b:5432/database'

/** Parameters of libpq that `pg` does not know. */
const target = 'target_session_attrs'
const ownParameters = [target, 'load_balance_hosts']
const writableTargets = ['read-write', 'primary', 'any']

/** Returns the parts of a list of hosts and ports, of equal length. @throws SettingError */
const pairs = (hosts: readonly string[], ports: readonly string[]): [string, string | undefined][] => {
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new SettingError(`has ${hosts.length} hosts and ${ports.length} ports: give one port, or one for each host`)
  return hosts.map((host, i) => [host, ports[i] ?? ports[0]])
}

/**
 * Returns an address of one host for each host of an address.
 * @throws SettingError for a list that is not valid, or a target that may not be written
 */
export const hostUrls = (url: string): readonly string[] => {
  const [, start = '', authority = '', path = '', query = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)\??([^#]*)/.exec(url) ?? []
  if (start === '') return [url]
  const parameters = new URLSearchParams(query)
  const session = parameters.get(target)
  if (session !== null && !writableTargets.includes(session))
    throw new SettingError(`has ${target}=${session}: the platform writes, so leave it out, or set read-write`)
  const named = authority.split(',')
  const listed = parameters.get('host')?.split(',') ?? []
  const isList = named.length > 1 || listed.length > 1
  if (!isList && session === null) return [url]
  for (const name of ownParameters) parameters.delete(name)
  const at = (host: string, own: URLSearchParams) => `${start}${host}${path}${own.size === 0 ? '' : `?${own}`}`
  const urls =
    listed.length > 1
      ? pairs(listed, parameters.get('port')?.split(',') ?? []).map(([host, port]) => {
          const own = new URLSearchParams(parameters)
          own.set('host', host)
          if (port !== undefined) own.set('port', port)
          return at('', own)
        })
      : named.map((host) => at(host, parameters))
  const isWhole = (listed.length > 1 ? listed : named).every((host) => host !== '')
  if (isList && (!isWhole || urls.length > maxHosts || (listed.length < 2 && !urls.every((one) => URL.canParse(one)))))
    throw new SettingError(`${example}, with at most ${maxHosts} hosts`)
  return urls
}

/** Parses DATABASE_URL. @throws SettingError */
export const databaseAddress = (value: string): string => {
  hostUrls(value)
  return value
}
