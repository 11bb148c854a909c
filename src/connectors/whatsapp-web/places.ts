import { jidOf, numberOf } from './codec/jid.ts'
import type { Socket } from './library.ts'

/** Where each number is on the network: its address, null for who is not, absent for who could not be asked. */
export const locate = async (socket: Socket, numbers: readonly string[]): Promise<Map<string, string | null>> => {
  const found = await socket.onWhatsApp(...numbers.map(jidOf))
  // No answer is none: the library gives nothing when it waited too long.
  if (!found) return new Map()
  const places = new Map<string, string | null>(numbers.map((number) => [number, null]))
  const others: string[] = []
  for (const { jid } of found) {
    const number = numberOf(jid)
    if (number && places.has(number)) places.set(number, jid)
    else others.push(jid)
  }
  // Some numbers are written otherwise there (Brazil, Mexico, Argentina): which is whose is told by asking one by one.
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

/** Whether a number is this one as the network writes it; null when it does not answer. */
export const isWritten = async (socket: Socket, number: string, written: string): Promise<boolean | null> => {
  if (number === written) return true
  const places = await locate(socket, [number]).catch(() => new Map<string, string | null>())
  const place = places.get(number)
  return place === undefined ? null : place !== null && numberOf(place) === written
}
