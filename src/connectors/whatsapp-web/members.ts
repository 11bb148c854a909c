import { bareOf } from './codec/jid.ts'
import { numberOfMember } from './groups.ts'
import type { Socket } from './library.ts'
import type { People } from './people.ts'

/** Groups whose members are remembered of each line; a group has 1,024 members at most. */
const mostGroups = 100

type Member = { readonly place: string; readonly written: string | null }

/** Who is in the groups of a line, as each group has them. */
export type Members = {
  /** Where these are, by their numbers as they were asked for; who has left is missing. @throws when the network does not answer */
  of(socket: Socket, group: string, numbers: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Somebody came or went; without a group, in any of them perhaps. */
  forget(group?: string): void
}

export const makeMembers = (people: Pick<People, 'asAsked'>): Members => {
  const known = new Map<string, Promise<readonly Member[]>>()

  const ask = (socket: Socket, group: string): Promise<readonly Member[]> => {
    const told = socket
      .groupMetadata(group)
      .then(({ participants }) => participants.map((one) => ({ place: bareOf(one.id), written: numberOfMember(one) })))
    if (known.size >= mostGroups) known.delete(known.keys().next().value ?? '')
    known.set(group, told)
    told.catch(() => known.get(group) === told && known.delete(group))
    return told
  }

  const placesOf = async (told: Promise<readonly Member[]>): Promise<ReadonlyMap<string, string>> => {
    const members = await told
    const names = await people.asAsked(members.flatMap(({ written }) => written ?? []))
    return new Map(
      members.flatMap(({ place, written }) => {
        const name = names.get(written ?? '')
        return name === undefined ? [] : [[name, place] as const]
      }),
    )
  }

  return {
    of: async (socket, group, numbers) => {
      if (numbers.length === 0) return new Map()
      const remembered = known.get(group)
      if (remembered) {
        const places = await placesOf(remembered)
        if (numbers.every((number) => places.has(number))) return places
      }
      return placesOf(ask(socket, group))
    },
    forget: (group) => {
      if (group === undefined) known.clear()
      else known.delete(group)
    },
  }
}
