import type { Sql } from '../../platform/db/sql.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import { type ChannelRow, channelsById } from './context-store.ts'
import { refusals } from './refusals.ts'

/** Finds an SMS channel or a channel of the messaging app of an account by its printed id. @throws Problem 404 */
export const findChannel = async (sql: Sql, account: string, printed: string): Promise<ChannelRow> => {
  const kind = printed.startsWith('SMS') ? 'sms' : 'msgapp'
  const id = parse(kind === 'sms' ? 'SMS' : 'WPN', printed)
  const [found] = id ? await channelsById(sql, account, [id], []) : []
  return found?.kind === kind ? found : refuse(refusals.unknownChannel(printed))
}
