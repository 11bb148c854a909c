/**
 * Protocol of the sandbox's chat network: JSON objects, one per line, over TCP. The platform sends requests and
 * receives responses (`Request`, `Reply`). The network sends events (`Notification`) and repeats them until
 * acknowledged (`Acknowledgement`). Numbers are E.164 with `+`; times are Unix milliseconds.
 */

/** Maximum characters of a line: a picture of 5 MiB in base64, with headroom. */
export const maxLineLength = 8_388_608

/** Bytes of a file in one response. */
export const chunkBytes = 262_144

export type Peer = { readonly number: string } | { readonly group: string }

export type Pin = {
  readonly latitude: number
  readonly longitude: number
  readonly name?: string
  readonly address?: string
  readonly url?: string
}

export type FileLink = {
  readonly type: 'image' | 'video' | 'audio' | 'document'
  readonly mimeType: string
  readonly name: string
  readonly size: number
  readonly url: string
}

export type GroupChange =
  | { readonly act: 'add' | 'remove' | 'promote' | 'demote'; readonly numbers: readonly string[] }
  | { readonly act: 'description'; readonly text: string }
  | { readonly act: 'picture'; readonly image: string | null }

/** Operations with their parameters (`give`) and results (`take`). `line` is the number that the operation acts for. */
export type Operations = {
  login: { give: { token: string }; take: { network: string } }
  ping: { give: object; take: object }
  attach: { give: { line: string; name: string }; take: AttachResult }
  detach: { give: { line: string; logout: boolean }; take: object }
  send: {
    give: {
      line: string
      id: string
      to: Peer
      text: string | null
      file: FileLink | null
      pin: Pin | null
    }
    take: { id: string; at: number }
  }
  check: {
    give: { line: string; numbers: readonly string[]; extra: boolean }
    take: { found: readonly CheckedNumber[] }
  }
  picture: { give: { line: string; image: string | null }; take: object }
  status: { give: { line: string; text: string }; take: object }
  create: {
    give: { line: string; name: string; description: string | null; participants: readonly string[] }
    take: { id: string; participants: readonly Participant[] }
  }
  groups: { give: { line: string }; take: { groups: readonly Group[] } }
  change: { give: { line: string; group: string; change: GroupChange }; take: { participants: readonly Participant[] } }
  contact: { give: { line: string; number: string; firstName: string; lastName: string }; take: object }
  read: { give: { line: string; from: Peer; ids: readonly string[] }; take: object }
  remove: { give: { line: string; id: string }; take: { from: 'everyone' | 'us' } }
  /** A chunk of a file, base64. */
  media: { give: { line: string; id: string; offset: number }; take: { piece: string; end: boolean } }
}

export type Operation = keyof Operations

/** The number is on the network, or must be paired first. */
export type AttachResult =
  | { readonly state: 'ready'; readonly pushname: string; readonly server: string; readonly business: boolean }
  | { readonly state: 'pairing'; readonly qr: string; readonly until: number }

export type CheckedNumber = {
  readonly number: string
  readonly there: boolean
  readonly business: boolean
  readonly pushname: string
  /** A public address. */
  readonly picture: string | null
  readonly status: string | null
}

export type Participant = { readonly number: string; readonly code: 200 | 403 | 404 | 409; readonly message: string }

export type Group = {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly members: readonly { readonly number: string; readonly admin: boolean; readonly creator: boolean }[]
}

export type Request<C extends Operation = Operation> = {
  readonly ask: C
  readonly id: number
  readonly with: Operations[C]['give']
}

export type Reply =
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly refused: string; readonly code: string; readonly seconds?: number }

/** `own`: written on the number's own phone; `from` is then the recipient. */
export type Inbound = {
  readonly id: string
  readonly from: string
  readonly own?: boolean
  readonly pushname: string
  readonly group: { readonly id: string; readonly name: string } | null
  readonly at: number
  readonly text: string | null
  readonly file: { readonly id: string; readonly mimeType: string; readonly name: string; readonly size: number } | null
  readonly pin: Pin | null
}

/** An event of the network for a number. */
export type NetworkEvent =
  | { readonly news: 'ready'; readonly me: Extract<AttachResult, { state: 'ready' }> }
  | { readonly news: 'message'; readonly message: Inbound }
  | { readonly news: 'receipt'; readonly id: string; readonly level: 2 | 3; readonly at: number; readonly by: string }
  | {
      readonly news: 'failure'
      readonly id: string
      readonly code: string
      readonly reason: string
      readonly at: number
    }
  | { readonly news: 'edited'; readonly id: string; readonly text: string; readonly at: number }
  | {
      readonly news: 'reaction'
      readonly id: string
      readonly by: string
      readonly emoji: string | null
      readonly at: number
    }
  | {
      readonly news: 'call'
      readonly id: string
      readonly from: string
      /** Made on the number's own phone; `from` is then the callee, and `answered` whether they talked. */
      readonly own?: boolean
      readonly answered?: boolean
      readonly video: boolean
      readonly at: number
      readonly state: 'offered' | 'ended'
    }
  | {
      readonly news: 'group'
      readonly id: string
      readonly group: string
      readonly name: string
      readonly what: 'join' | 'leave' | 'remove' | 'changed'
      readonly who: readonly string[]
      readonly at: number
    }

export type Notification = { readonly tell: number; readonly line: string } & NetworkEvent

export type Acknowledgement = { readonly kept: number }

export type ToNetwork = Request | Acknowledgement
export type ToPlatform = Reply | Notification

export const encode = (message: ToNetwork | ToPlatform): string => `${JSON.stringify(message)}\n`

/**
 * Makes a decoder of bytes from a socket. Both ends are ours and use the types above.
 * @returns a function from chunks of bytes to complete messages. @throws Error for an invalid or too long line
 */
export const makeDecoder = <M extends ToNetwork | ToPlatform>(): ((piece: Buffer) => M[]) => {
  let parts: Buffer[] = []
  let size = 0
  return (piece) => {
    const messages: M[] = []
    let start = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      const line = Buffer.concat([...parts, piece.subarray(start, end)])
      parts = []
      size = 0
      // Both ends are ours and use the types above.
      messages.push(JSON.parse(line.toString('utf8')) as M)
      start = end + 1
    }
    const rest = piece.subarray(start)
    size += rest.length
    if (size > maxLineLength) throw new Error('a line is too long')
    if (rest.length > 0) parts.push(rest)
    return messages
  }
}
