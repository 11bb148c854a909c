/**
 * The protocol of the sandbox's chat network, ours: JSON objects, one a line, over TCP. The platform asks and is answered
 * (`Request`, `Answer`); the network tells (`Told`) and tells again, after a break or not, until the platform acknowledges
 * (`Acknowledgement`). Numbers are E.164 with `+`, times Unix milliseconds.
 */

/** The longest line, characters: a picture of 5 MiB in base64, and some. */
export const longestLine = 8_388_608

/** Bytes of a file that one answer carries. */
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

/** What is asked, and what each answer holds. `line` is the number on whose behalf it is asked. */
export type Calls = {
  login: { give: { token: string }; take: { network: string } }
  ping: { give: object; take: object }
  attach: { give: { line: string; name: string }; take: Attached }
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
  check: { give: { line: string; numbers: readonly string[]; extra: boolean }; take: { found: readonly Found[] } }
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
  /** A piece of a file, base64. */
  media: { give: { line: string; id: string; offset: number }; take: { piece: string; end: boolean } }
}

export type Call = keyof Calls

/** The line is on the network, or is to be paired first. */
export type Attached =
  | { readonly state: 'ready'; readonly pushname: string; readonly server: string; readonly business: boolean }
  | { readonly state: 'pairing'; readonly qr: string; readonly until: number }

export type Found = {
  readonly number: string
  readonly there: boolean
  readonly business: boolean
  readonly pushname: string
  /** An address that anybody may follow. */
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

export type Request<C extends Call = Call> = { readonly ask: C; readonly id: number; readonly with: Calls[C]['give'] }

export type Answer =
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly refused: string; readonly code: string; readonly seconds?: number }

/** `own`: written on the line's own phone; `from` is then whom it went to. */
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

/** What the network tells a line. */
export type News =
  | { readonly news: 'ready'; readonly me: Extract<Attached, { state: 'ready' }> }
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
      /** Made on the line's own phone; `from` is then who was called, and `answered` whether they talked. */
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

export type Told = { readonly tell: number; readonly line: string } & News

export type Acknowledgement = { readonly kept: number }

export type ToNetwork = Request | Acknowledgement
export type ToPlatform = Answer | Told

export const encode = (message: ToNetwork | ToPlatform): string => `${JSON.stringify(message)}\n`

/**
 * Takes apart what comes over a socket. Both ends are ours and speak the shapes above.
 * @returns takes pieces of bytes and gives whole messages. @throws Error for what is no line of JSON, or too long
 */
export const decoder = <M extends ToNetwork | ToPlatform>(): ((piece: Buffer) => M[]) => {
  let parts: Buffer[] = []
  let size = 0
  return (piece) => {
    const messages: M[] = []
    let start = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      const line = Buffer.concat([...parts, piece.subarray(start, end)])
      parts = []
      size = 0
      // Of the shapes above, since both ends are ours.
      messages.push(JSON.parse(line.toString('utf8')) as M)
      start = end + 1
    }
    const rest = piece.subarray(start)
    size += rest.length
    if (size > longestLine) throw new Error('a line is too long')
    if (rest.length > 0) parts.push(rest)
    return messages
  }
}
