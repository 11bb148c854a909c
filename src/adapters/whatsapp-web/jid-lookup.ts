import { jidOf, numberOf } from './codec/jid.ts'
import type { WASocket } from './library.ts'

/** Addresses by number: null when not on the network, absent when the lookup failed. */
export const lookUpJids = async (socket: WASocket, numbers: readonly string[]): Promise<Map<string, string | null>> => {
  const found = await socket.onWhatsApp(...numbers.map(jidOf))
  // The library returns undefined on timeout.
  if (!found) return new Map()
  const places = new Map<string, string | null>(numbers.map((number) => [number, null]))
  const others: string[] = []
  for (const { jid } of found) {
    const number = numberOf(jid)
    if (number && places.has(number)) places.set(number, jid)
    else others.push(jid)
  }
  // The network writes some numbers differently (Brazil, Mexico, Argentina); single lookups assign them.
  const open = numbers.filter((number) => places.get(number) === null)
  const [only] = others
  if (only && open.length === 1 && open[0]) places.set(open[0], only)
  else if (only) {
    for (const number of open) {
      const again = await socket.onWhatsApp(jidOf(number))
      if (again) places.set(number, again[0]?.jid ?? null)
      else places.delete(number)
    }
  }
  return places
}

/** True when a number is the other as the network writes it; null when the network does not respond. */
export const isSameNumber = async (socket: WASocket, number: string, written: string): Promise<boolean | null> => {
  if (number === written) return true
  const places = await lookUpJids(socket, [number]).catch(() => new Map<string, string | null>())
  const place = places.get(number)
  return place === undefined ? null : place !== null && numberOf(place) === written
}
