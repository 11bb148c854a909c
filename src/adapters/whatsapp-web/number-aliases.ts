import { makeKeyedQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatCredentialStore, ChatEvents } from '../../ports/chat.ts'
import { numberOf } from './codec/jid.ts'
import { lookUpJids } from './jid-lookup.ts'
import type { WASocket } from './library.ts'
import { maxCachedAliases } from './limits.ts'
import { retry } from './retry.ts'

/** Type of the vault entries: requested number by number as the network writes it. They survive unlinking. */
export const requestedNumberType = 'asked-number'

/**
 * Maps numbers as the network writes them to the numbers that were requested. The network writes some numbers
 * differently: those of Brazil without the inserted 9, those of Mexico with a 1.
 * The first requested number of a person stays theirs and names their only thread. Events under another number continue
 * in that thread.
 */
export type NumberAliases = {
  /** Requested numbers by the numbers as the network writes them. */
  requestedNumbers(written: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Address of a recipient by E.164 number; null when not on the network. @throws when the network does not respond */
  resolveJid(socket: WASocket, number: string): Promise<string | null>
  /** Records a lookup by requested numbers. An alias is persisted once a message from that number arrives. */
  recordLookup(places: ReadonlyMap<string, string | null>): void
}

type Deps = {
  readonly channel: string
  readonly vault: ChatCredentialStore
  readonly events: Pick<ChatEvents, 'renamed'>
  /** The session's own number, as the network writes it (once known) and as configured. */
  readonly own: () => { readonly written: string | null; readonly number: string }
}

const cache = (map: Map<string, string>, key: string, value: string): void => {
  if (!map.has(key) && map.size >= maxCachedAliases) map.delete(map.keys().next().value ?? '')
  map.set(key, value)
}

/** The number of a person known only by an identity, if the library has learnt it. */
export const numberOfLid = async (socket: WASocket | null | undefined, lid: string): Promise<string | null> => {
  const found = await socket?.signalRepository.lidMapping.getPNForLID(lid).catch(() => null)
  return found ? numberOf(found) : null
}

export const makeNumberAliases = ({ channel, vault, events, own }: Deps): NumberAliases => {
  /** Requested number by written number; the two may be equal. */
  const requestedByWritten = new Map<string, string>()
  /** Address by requested number. */
  const jidByRequested = new Map<string, string>()
  /** Requested number by written number, before any message from that number. */
  const unconfirmed = new Map<string, string>()
  const queue = makeKeyedQueue()

  /** Stored aliases of these numbers; unknown ones are omitted. */
  const storedAliases = async (written: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const open = written.filter((one) => !requestedByWritten.has(one))
    const stored =
      open.length > 0 ? await retry(() => vault.read(channel, requestedNumberType, open)) : new Map<string, Buffer>()
    return new Map(
      written.flatMap((one) => {
        // May have been learnt meanwhile.
        const storeAlias = requestedByWritten.get(one) ?? stored.get(one)?.toString()
        return storeAlias === undefined ? [] : [[one, storeAlias] as const]
      }),
    )
  }

  /** Stores an alias permanently, or merges the thread of another number into it. */
  const name = (written: string, requested: string): Promise<void> =>
    queue(written, async () => {
      const before = (await storedAliases([written])).get(written) ?? written
      if (before === requested) return cache(requestedByWritten, written, requested)
      if (before !== written) return retry(() => events.renamed(channel, requested, before))
      // Inbound messages use the alias at once. The rename is published before the alias is stored, so a crash in
      // between repeats both.
      cache(requestedByWritten, written, requested)
      try {
        await retry(() => events.renamed(channel, written, requested))
        await retry(() =>
          vault.write(channel, [{ type: requestedNumberType, id: written, value: Buffer.from(requested) }]),
        )
      } catch (error) {
        requestedByWritten.delete(written)
        throw error
      }
    })

  const requestedForms = async (written: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const { written: ours, number } = own()
    const met = await storedAliases(written)
    for (const one of written) {
      const requested = met.has(one) ? undefined : unconfirmed.get(one)
      if (requested !== undefined && one !== ours) await name(one, requested)
      unconfirmed.delete(one)
    }
    return new Map(
      written.map((one) => {
        const found = requestedByWritten.get(one) ?? met.get(one) ?? one
        cache(requestedByWritten, one, found)
        return [one, one === ours ? number : found] as const
      }),
    )
  }

  return {
    requestedNumbers: requestedForms,
    resolveJid: async (socket, number) => {
      const before = jidByRequested.get(number)
      const place = before ?? (await lookUpJids(socket, [number])).get(number)
      if (place === undefined) throw new Error('the network does not answer')
      if (place === null) return null
      const written = numberOf(place)
      if (written !== null && written !== own().written && requestedByWritten.get(written) !== number)
        await name(written, number)
      cache(jidByRequested, number, place)
      return place
    },
    recordLookup: (places) => {
      for (const [number, place] of places) {
        const written = place === null ? null : numberOf(place)
        if (written !== null && written !== number && !requestedByWritten.has(written))
          cache(unconfirmed, written, number)
      }
    },
  }
}
