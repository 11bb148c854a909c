import type { ChatBusiness, ChatChecked } from '../chat-port.ts'
import { numberOf } from './codec/jid.ts'
import type { BusinessProfile, Socket } from './library.ts'
import type { People } from './people.ts'
import { locate } from './places.ts'

const extraMs = 8_000

const unknownOf = (number: string): ChatChecked => ({
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

/** What somebody shows of themselves; each of it may be hidden, and is null then. */
const look = async (socket: Socket, jid: string, extra: boolean) => {
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

export const check = async (
  socket: Socket,
  people: People,
  numbers: readonly string[],
  extra: boolean,
): Promise<readonly ChatChecked[]> => {
  const places = await locate(socket, numbers).catch(() => new Map<string, string | null>())
  people.found(places)
  return Promise.all(
    numbers.map(async (number) => {
      const jid = places.get(number)
      if (jid === undefined) return unknownOf(number)
      if (jid === null) return { ...unknownOf(number), there: 'no' as const }
      const seen = await look(socket, jid, extra)
      return { ...unknownOf(number), there: 'yes' as const, id: numberOf(jid)?.slice(1) ?? null, ...seen }
    }),
  )
}
