import type { ChatBusiness, ChatNumberCheck } from '../../ports/chat.ts'
import { numberOf } from './codec/jid.ts'
import { lookUpJids } from './jid-lookup.ts'
import type { BusinessProfile, WASocket } from './library.ts'
import { extraMs } from './limits.ts'
import type { NumberAliases } from './number-aliases.ts'

const unknownOf = (number: string): ChatNumberCheck => ({
  number,
  there: 'unknown',
  id: null,
  picture: null,
  pushname: null,
  status: null,
  business: null,
})

const days = new Map(['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'].map((day) => [day, day] as const))

const businessOf = ({ description, website, email, category, business_hours }: BusinessProfile): ChatBusiness => {
  const { timezone, business_config } = business_hours ?? {}
  const hours = (business_config ?? []).flatMap(({ day_of_week, mode }) => {
    const day = days.get(day_of_week?.slice(0, 3).toLowerCase() ?? '')
    return day && mode ? [[day, { mode }] as const] : []
  })
  return {
    ...(description ? { description } : {}),
    ...(website && website.length > 0 ? { website } : {}),
    ...(email ? { email } : {}),
    ...(category ? { categories: [{ id: category, localized_display_name: category }] } : {}),
    ...(timezone && hours.length > 0 ? { business_hours: { timezone, config: Object.fromEntries(hours) } } : {}),
  }
}

/** Fetches the public profile of a person; hidden fields are null. */
const fetchProfile = async (socket: WASocket, jid: string, extra: boolean) => {
  const soon = <T>(work: Promise<T>) =>
    Promise.race([work, new Promise<undefined>((done) => setTimeout(() => done(undefined), extraMs))])
  const hidden = () => undefined
  const [picture, status, business] = await Promise.all([
    socket.profilePictureUrl(jid, 'image', extraMs).catch(hidden),
    extra ? soon(socket.fetchStatus(jid)).catch(hidden) : undefined,
    extra ? soon(socket.getBusinessProfile(jid)).catch(hidden) : undefined,
  ])
  return {
    picture: picture ?? null,
    status: status?.[0]?.status?.status ?? null,
    business: business ? businessOf(business) : null,
  }
}

export const checkNumbers = async (
  socket: WASocket,
  aliases: NumberAliases,
  numbers: readonly string[],
  extra: boolean,
): Promise<readonly ChatNumberCheck[]> => {
  const jids = await lookUpJids(socket, numbers).catch(() => new Map<string, string | null>())
  aliases.recordLookup(jids)
  return Promise.all(
    numbers.map(async (number) => {
      const jid = jids.get(number)
      if (jid === undefined) return unknownOf(number)
      if (jid === null) return { ...unknownOf(number), there: 'no' as const }
      const seen = await fetchProfile(socket, jid, extra)
      return { ...unknownOf(number), there: 'yes' as const, id: numberOf(jid)?.slice(1) ?? null, ...seen }
    }),
  )
}
