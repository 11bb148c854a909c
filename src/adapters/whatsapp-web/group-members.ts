import { bareOf } from './codec/jid.ts'
import { numberOfMember } from './groups.ts'
import type { WASocket } from './library.ts'
import { maxCachedGroups } from './limits.ts'
import type { NumberAliases } from './number-aliases.ts'

type Member = { readonly jid: string; readonly written: string | null }

/** Addresses of group members, as each group lists them. */
export type GroupMembers = {
  /** Addresses by requested number; former members are missing. @throws when the network does not respond */
  jidsOf(socket: WASocket, group: string, numbers: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Invalidates the members of a group, or of all groups. */
  invalidate(group?: string): void
}

export const makeGroupMembers = (people: NumberAliases): GroupMembers => {
  const known = new Map<string, Promise<readonly Member[]>>()

  const load = (socket: WASocket, group: string): Promise<readonly Member[]> => {
    const loading = socket
      .groupMetadata(group)
      .then(({ participants }) =>
        participants.map((one): Member => ({ jid: bareOf(one.id), written: numberOfMember(one) })),
      )
    if (known.size >= maxCachedGroups) known.delete(known.keys().next().value ?? '')
    known.set(group, loading)
    loading.catch(() => known.get(group) === loading && known.delete(group))
    return loading
  }

  const placesOf = async (query: Promise<readonly Member[]>): Promise<ReadonlyMap<string, string>> => {
    const members = await query
    const names = await people.requestedNumbers(members.flatMap(({ written }) => written ?? []))
    return new Map(
      members.flatMap(({ jid, written }) => {
        const name = names.get(written ?? '')
        return name === undefined ? [] : [[name, jid] as const]
      }),
    )
  }

  return {
    jidsOf: async (socket, group, numbers) => {
      if (numbers.length === 0) return new Map()
      const remembered = known.get(group)
      if (remembered) {
        const places = await placesOf(remembered)
        if (numbers.every((number) => places.has(number))) return places
      }
      return placesOf(load(socket, group))
    },
    invalidate: (group) => {
      if (group === undefined) known.clear()
      else known.delete(group)
    },
  }
}
