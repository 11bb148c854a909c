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
 * put before them, those of Mexico with a 1): what was asked for once is told so from then on, and its thread is one. The first
 * number that somebody was asked for by stays theirs; what is said by another one goes on in that thread.
 */
export type People = {
  /** Of numbers as the network writes them: each as it was asked for. */
  asAsked(written: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Where somebody is who is written to, E.164; null for who is not on the network. @throws when it does not answer */
  placeOf(socket: Socket, number: string): Promise<string | null>
  /** Takes notice of an answer of the network, by the numbers that were asked for: it counts, and is kept, once one is heard from. */
  found(places: ReadonlyMap<string, string | null>): void
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

/** One after the other for each key. */
const makeTurns = () => {
  const last = new Map<string, Promise<void>>()
  return async (key: string, work: () => Promise<void>): Promise<void> => {
    const done = (last.get(key) ?? Promise.resolve()).then(work, work)
    last.set(key, done)
    await done.finally(() => last.get(key) === done && last.delete(key))
  }
}

export const makePeople = ({ channel, vault, events, own }: Given): People => {
  /** By the number as it is written: as it was asked for, which may be the same. */
  const names = new Map<string, string>()
  /** By the number that was asked for: where it is. */
  const known = new Map<string, string>()
  /** By the number as it is written: as it was looked for, of whom nothing was heard. */
  const lookedFor = new Map<string, string>()
  const inTurn = makeTurns()

  /** What is remembered of these; nothing of who was never met. */
  const recall = async (written: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const open = written.filter((one) => !names.has(one))
    const kept = open.length > 0 ? await insist(() => vault.read(channel, askedType, open)) : new Map<string, Buffer>()
    return new Map(
      written.flatMap((one) => {
        // Learnt meanwhile, perhaps.
        const name = names.get(one) ?? kept.get(one)?.toString()
        return name === undefined ? [] : [[one, name] as const]
      }),
    )
  }

  /** Names somebody for good, or has what was said by another number go on under their name. */
  const name = (written: string, asked: string): Promise<void> =>
    inTurn(written, async () => {
      const before = (await recall([written])).get(written) ?? written
      if (before === asked) return remember(names, written, asked)
      if (before !== written) return insist(() => events.renamed(channel, asked, before))
      // What comes in meanwhile is under the name already. First what is seen of it: what ends in between is learnt once more.
      remember(names, written, asked)
      try {
        await insist(() => events.renamed(channel, written, asked))
        await insist(() => vault.write(channel, [{ type: askedType, id: written, value: Buffer.from(asked) }]))
      } catch (error) {
        names.delete(written)
        throw error
      }
    })

  const asAsked = async (written: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const { written: ours, number } = own()
    const met = await recall(written)
    for (const one of written) {
      const asked = met.has(one) ? undefined : lookedFor.get(one)
      if (asked !== undefined && one !== ours) await name(one, asked)
      lookedFor.delete(one)
    }
    return new Map(
      written.map((one) => {
        const found = names.get(one) ?? met.get(one) ?? one
        remember(names, one, found)
        return [one, one === ours ? number : found] as const
      }),
    )
  }

  return {
    asAsked,
    placeOf: async (socket, number) => {
      const before = known.get(number)
      const place = before ?? (await locate(socket, [number])).get(number)
      if (place === undefined) throw new Error('the network does not answer')
      if (place === null) return null
      const written = numberOf(place)
      if (written !== null && written !== own().written && names.get(written) !== number) await name(written, number)
      remember(known, number, place)
      return place
    },
    found: (places) => {
      for (const [number, place] of places) {
        const written = place === null ? null : numberOf(place)
        if (written !== null && written !== number && !names.has(written)) remember(lookedFor, written, number)
      }
    },
  }
}
