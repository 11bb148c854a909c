import type { FastifyRequest } from 'fastify'
import type { Sql } from '../../../platform/db/sql.ts'
import { peerKeyOf } from '../../../platform/lib/address-list.ts'
import { maxComparedSessions } from '../limits.ts'
import * as store from './store.ts'

/** An IPv4 /24 or an IPv6 /64: providers change addresses within them. */
const networkOf = (address: string): string => peerKeyOf(address).replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1')

/** The name of a browser without versions, which change every month. */
const kindOf = (userAgent: string): string => userAgent.replace(/[\d._]+/g, '')

/** Whether a person who has signed in before did not use such a browser in this network. */
export const isNewBrowser = async (
  sql: Sql,
  { ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>,
  person: string,
): Promise<boolean> => {
  const known = await store.browsersOf(sql, person, maxComparedSessions)
  const [network, kind] = [networkOf(ip), kindOf(headers['user-agent'] ?? '')]
  return (
    known.length > 0 &&
    !known.some(({ address, user_agent }) => networkOf(address) === network && kindOf(user_agent) === kind)
  )
}
