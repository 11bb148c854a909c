import { randomBytes } from 'node:crypto'
import type { BinaryNode } from '../../src/adapters/whatsapp-web/library.ts'
import type { Library } from './library.ts'
import { bare } from './nodes.ts'
import { Person } from './person.ts'

/** A linked device with its keys and pending nodes. */
export type Device = {
  readonly account: Person
  readonly jid: string
  readonly lid: string
  readonly noiseKey: Buffer
  readonly identityKey: Buffer
  bundle: { registration: Buffer; skey: BinaryNode; keys: BinaryNode[] } | null
  /** True once the phone has shared its keys. */
  hasKeys: boolean
  /** Unacknowledged nodes by id. */
  readonly waiting: Map<string, BinaryNode>
  send: ((node: BinaryNode) => void) | null
}

export type Group = {
  readonly id: string
  name: string
  description: { id: string; text: string } | null
  picture: Buffer | null
  readonly creator: Person
  readonly members: Map<Person, { admin: boolean; creator: boolean }>
  /** Count of metadata queries. */
  queryCount: number
}

/** People, devices, groups and files of the network. */
export const makeWorld = (library: Library) => {
  const people = new Map<string, Person>()
  /** By device address of either kind. */
  const devices = new Map<string, Device>()
  const groups = new Map<string, Group>()
  const files = new Map<string, Buffer>()
  let lids = 100_000_000_000_001

  return {
    library,
    devices,
    groups,
    files,
    /** Host of the files, `host:port`. */
    host: '',
    person: (digits: string): Person => {
      const known = people.get(digits)
      if (known) return known
      const person = new Person(library, digits, String(lids++))
      people.set(digits, person)
      return person
    },
    /** The person of an address, with or without a device, or undefined. */
    find: (jid: string): Person | undefined => {
      const [user = '', server] = bare(jid).split('@')
      return server === 'lid' ? people.values().find(({ lid }) => lid === user) : people.get(user)
    },
    devicesOf: (account: Person): Device[] => [...new Set(devices.values())].filter((one) => one.account === account),
    group: (name: string, creator: Person): Group => {
      const id = `1203630${randomBytes(6).readUIntBE(0, 6)}@g.us`
      const members = new Map([[creator, { admin: true, creator: true }]])
      const group: Group = { id, name, description: null, picture: null, creator, members, queryCount: 0 }
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
