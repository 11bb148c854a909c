import { createSocket } from 'node:dgram'
import { once } from 'node:events'

export type DnsRecord = { readonly type: 'A' | 'AAAA' | 'CNAME'; readonly value: string; readonly owner?: string }

/** The answer to a question: records, or a fault. */
export type DnsAnswer = readonly DnsRecord[] | 'fails' | 'silent'

const types = { A: 1, CNAME: 5, AAAA: 28 } as const

const nameBytes = (name: string) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ])

const dataOf = ({ type, value }: DnsRecord): Buffer => {
  if (type === 'CNAME') return nameBytes(value)
  if (type === 'A') return Buffer.from(value.split('.').map(Number))
  const [left = '', right = ''] = value
    .split('::')
    .map((part) => part.split(':').filter(Boolean))
    .map((groups) => groups.map((group) => group.padStart(4, '0')).join(''))
  return Buffer.from(left + right.padStart(32 - left.length, '0'), 'hex')
}

const recordBytes = (record: DnsRecord, name: string): Buffer => {
  const data = dataOf(record)
  const head = Buffer.alloc(10)
  head.writeUInt16BE(types[record.type], 0)
  head.writeUInt16BE(1, 2) // class IN
  head.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameBytes(record.owner ?? name), head, data])
}

export type DnsServer = {
  /** The address of the server, as clients take it. */
  readonly servers: readonly string[]
  /** Answers by name. @param nth of the question for this name and type, from 0 */
  readonly zone: Map<string, (nth: number) => DnsAnswer>
  /** Number of questions by name and type, such as `a.example 1`. */
  readonly questions: ReadonlyMap<string, number>
  close(): void
}

export const a = (value: string, owner?: string): DnsRecord => ({ type: 'A', value, ...(owner ? { owner } : {}) })
export const aaaa = (value: string): DnsRecord => ({ type: 'AAAA', value })

/** Starts a DNS server (RFC 1035) on loopback with records that a test changes. */
export const startDnsServer = async (): Promise<DnsServer> => {
  const zone = new Map<string, (nth: number) => DnsAnswer>()
  const questions = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const name = labels.join('.').toLowerCase()
    const type = query.readUInt16BE(at + 1)
    const key = `${name} ${type}`
    const nth = questions.get(key) ?? 0
    questions.set(key, nth + 1)
    const found = zone.get(name)?.(nth) ?? null
    if (found === 'silent') return
    const records =
      found === null || found === 'fails'
        ? []
        : found.filter((record) => record.type === 'CNAME' || types[record.type] === type)
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 + (found === null ? 3 : found === 'fails' ? 2 : 0), 2) // NXDOMAIN, SERVFAIL
    head.writeUInt16BE(records.length, 6)
    head.writeUInt16BE(0, 10)
    const answers = records.map((record) => recordBytes(record, name))
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { servers: [`127.0.0.1:${socket.address().port}`], zone, questions, close: () => void socket.close() }
}
