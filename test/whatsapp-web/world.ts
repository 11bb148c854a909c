import { randomBytes } from 'node:crypto'
import type { Node } from '../../src/connectors/whatsapp-web/library.ts'
import type { Library } from './library.ts'
import { bare } from './nodes.ts'
import { Person } from './person.ts'

/** What a linked device has told of itself, and what waits for it. */
export type Device = {
  readonly account: Person
  readonly jid: string
  readonly lid: string
  readonly noiseKey: Buffer
  readonly identityKey: Buffer
  bundle: { registration: Buffer; skey: Node; keys: Node[] } | null
  /** Whether the phone has shared its keys with it. */
  hasKeys: boolean
  /** Not yet acknowledged, by their ids. */
  readonly waiting: Map<string, Node>
  send: ((node: Node) => void) | null
}

export type Group = {
  readonly id: string
  name: string
  description: { id: string; text: string } | null
  picture: Buffer | null
  readonly creator: Person
  readonly members: Map<Person, { admin: boolean; creator: boolean }>
  /** How often somebody asked what it is. */
  asked: number
}

/** Who and what there is on the network. */
export const makeWorld = (library: Library) => {
  const people = new Map<string, Person>()
  /** By the address with the device, of either kind. */
  const devices = new Map<string, Device>()
  const groups = new Map<string, Group>()
  const files = new Map<string, Buffer>()
  let lids = 100_000_000_000_001

  return {
    library,
    devices,
    groups,
    files,
    /** Where files lie, `host:port`. */
    host: '',
    person: (digits: string): Person => {
      const known = people.get(digits)
      if (known) return known
      const person = new Person(library, digits, String(lids++))
      people.set(digits, person)
      return person
    },
    /** Whoever an address names, with or without a device; undefined when nobody. */
    find: (jid: string): Person | undefined => {
      const [user = '', server] = bare(jid).split('@')
      return server === 'lid' ? people.values().find(({ lid }) => lid === user) : people.get(user)
    },
    devicesOf: (account: Person): Device[] => [...new Set(devices.values())].filter((one) => one.account === account),
    group: (name: string, creator: Person): Group => {
      const id = `1203630${randomBytes(6).readUIntBE(0, 6)}@g.us`
      const members = new Map([[creator, { admin: true, creator: true }]])
      const group: Group = { id, name, description: null, picture: null, creator, members, asked: 0 }
      groups.set(id, group)
      return group
    },
    keep: (bytes: Buffer): string => {
      const path = `/v/t62/${randomBytes(16).toString('hex')}`
      files.set(path, bytes)
      return path
    },
  }
}

export type World = ReturnType<typeof makeWorld>
