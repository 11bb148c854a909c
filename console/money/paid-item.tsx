import type { ReplyOf } from '../api/client.ts'
import { may } from '../api/session.ts'
import { NoValue, PhoneNumber } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/money.ts'

type Item = NonNullable<ReplyOf<'GET /open/ledger'>['transfers'][number]['item']>

/** The page of an item; undefined where it has none. */
export const hrefOfItem = (item: Item | undefined): string | undefined => {
  if (item?.uuid === undefined || !may('read_only')) return undefined
  if (item.kind === 'message' && item.uuid.startsWith('SM')) return paths.message({ message: item.uuid })
  if (item.kind === 'number') return paths.number({ number: item.uuid })
  return item.kind === 'call' ? paths.call({ call: item.uuid }) : undefined
}

/** The end of an id, enough to tell two of a list apart. */
const short = (uuid: string): string => `${uuid.slice(0, 3)}…${uuid.slice(-6)}`

/** The item that an entry paid for, with a link to it. */
export const PaidItem = ({ item }: { item: Item | undefined }) => {
  if (item === undefined) return <NoValue />
  const href = hrefOfItem(item)
  const id = item.uuid && <code title={item.uuid}>{short(item.uuid)}</code>
  return (
    <span class="row">
      {item.number ? (
        <PhoneNumber number={item.number} href={href} />
      ) : href ? (
        <a href={href}>
          {words.items[item.kind]} {id}
        </a>
      ) : (
        <span>
          {words.items[item.kind]} {id}
        </span>
      )}
    </span>
  )
}
