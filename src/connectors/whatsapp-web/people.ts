import type { ChatEvents, ChatVault } from '../chat-port.ts'
import { numberOf } from './codec/jid.ts'
import { insist } from './insist.ts'
import type { Socket } from './library.ts'
import { locate } from './places.ts'

/** Numbers that are remembered of each line, either way. */
const mostKnown = 5_000

/** Their type in the vault: by the number as the network writes it, the number that was asked for. They outlive a link. */
export const askedType = 'asked-number'

/**
 * Whom a line knows by numbers. The network writes some numbers otherwise than people do (those of Brazil without the 9 that was
 * put before them, those of Mexico with a 1): what was asked for once is told so from then on, and its thread is one.
 */
export type People = {
  /** Of numbers as the network writes them: each as it was asked for. */
  asAsked(written: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Where somebody is who is written to, E.164; null for who is not on the network. @throws when it does not answer */
  placeOf(socket: Socket, number: string): Promise<string | null>
  /** Learns from an answer of the network, by the numbers that were asked for. What was sent to counts for more. */
  found(places: ReadonlyMap<string, string | null>): Promise<void>
}

type Given = {
  readonly channel: string
  readonly vault: ChatVault
  readonly events: Pick<ChatEvents, 'renamed'>
  /** The line's own number, as the network writes it, once that is known; and as it is. */
  readonly own: () => { readonly written: string | null; readonly number: string }
}

const remember = (map: Map<string, string>, key: string, value: string): void => {
  if (!map.has(key) && map.size >= mostKnown) map.delete(map.keys().next().value ?? '')
  map.set(key, value)
}

export const makePeople = ({ channel, vault, events, own }: Given): People => {
  /** By the number as it is written: as it was asked for, which may be the same. */
  const names = new Map<string, string>()
  /** By the number that was asked for: where it is. */
  const known = new Map<string, string>()

  const asAsked = async (written: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const open = written.filter((one) => !names.has(one))
    const kept = open.length > 0 ? await insist(() => vault.read(channel, askedType, open)) : new Map<string, Buffer>()
    const { written: ours, number } = own()
    return new Map(
      written.map((one) => {
        // Learnt meanwhile, perhaps.
        const name = names.get(one) ?? kept.get(one)?.toString() ?? one
        remember(names, one, name)
        return [one, one === ours ? number : name] as const
      }),
    )
  }

  const learn = async (asked: string, place: string, wasSent: boolean): Promise<void> => {
    const written = numberOf(place)
    if (written === null || written === own().written) return
    const before = (await asAsked([written])).get(written) ?? written
    if (before === asked || !(wasSent || before === written)) return
    // First what is seen of it: what ends in between is learnt once more.
    await insist(() => events.renamed(channel, before, asked))
    const value = asked === written ? null : Buffer.from(asked)
    await insist(() => vault.write(channel, [{ type: askedType, id: written, value }]))
    remember(names, written, asked)
  }

  return {
    asAsked,
    placeOf: async (socket, number) => {
      const before = known.get(number)
      const place = before ?? (await locate(socket, [number])).get(number)
      if (place === undefined) throw new Error('the network does not answer')
      if (place === null) return null
      await learn(number, place, true)
      remember(known, number, place)
      return place
    },
    found: async (places) => {
      for (const [number, place] of places) if (place !== null) await learn(number, place, false)
    },
  }
}
