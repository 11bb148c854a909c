import { createHash, randomInt } from 'node:crypto'
import type { Faults } from './graph-faults.ts'
import { type Business, newId, type People, type Person } from './people.ts'

export type Fields = Readonly<Record<string, unknown>>
export type Reply = {
  readonly status: number
  readonly body: object | Buffer
  readonly type?: string
  readonly seconds?: number
}
export type StoredFile = { readonly bytes: Buffer; readonly type: string; readonly name: string }

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const titles: Readonly<Record<number, string>> = {
  100: 'Invalid parameter',
  190: 'Access token has expired',
  130429: 'Rate limit hit',
  131026: 'Message undeliverable',
  131047: 'Re-engagement message',
  131056: '(Business Account, Consumer Account) pair rate limit hit',
}

const titleOf = (code: number) => titles[code] ?? 'Something went wrong'

/** An error response of the Graph API. */
export const errorOf = (status: number, code: number, details = '', seconds?: number): Reply => ({
  status,
  body: {
    error: {
      message: `(#${code}) ${titleOf(code)}`,
      type: 'OAuthException',
      code,
      error_data: { messaging_product: 'whatsapp', details },
      fbtrace_id: 'simulated',
    },
  },
  ...(seconds === undefined ? {} : { seconds }),
})

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

type Deps = { readonly account: string; readonly faults: Faults; readonly people: People; readonly base: () => string }

/** The part of the Graph API that serves numbers of an account. */
export class Graph {
  readonly phones: Business[] = []
  readonly media = new Map<string, StoredFile>()
  readonly profiles = new Map<string, Record<string, unknown>>()
  private readonly sessions = new Map<string, { readonly type: string; readonly length: number }>()
  private readonly handles = new Map<string, StoredFile>()
  private readonly deps: Deps

  constructor(deps: Deps) {
    this.deps = deps
  }

  phone(digits: string): Business | null {
    return this.phones.find((one) => one.digits === digits) ?? null
  }

  addPhone(digits: string, name: string): Business {
    const phone = { id: String(randomInt(1e14, 2e14)), digits, name }
    this.phones.push(phone)
    return phone
  }

  storeMedia(stored: StoredFile): string {
    const id = String(randomInt(1e14, 2e14))
    this.media.set(id, stored)
    return id
  }

  respond(
    method: string,
    path: string,
    query: URLSearchParams,
    raw: Buffer,
    form: FormData | null,
    type: string,
  ): Reply | Promise<Reply> {
    const { account } = this.deps
    const [first = '', second] = path.split('/')
    if (method === 'GET' && first === account) return this.account(second, query)
    if (method === 'POST' && path === 'app/uploads') {
      const id = `upload:${randomInt(1e9)}`
      this.sessions.set(id, { type: query.get('file_type') ?? '', length: Number(query.get('file_length')) })
      return { status: 200, body: { id } }
    }
    if (method === 'POST' && first.startsWith('upload:')) return this.finish(first, raw)
    const phone = this.phones.find(({ id }) => id === first)
    if (method === 'GET' && second === undefined && this.media.has(first)) return this.file(first)
    if (!phone || method !== 'POST') return errorOf(400, 100, `Object '${first}' does not exist`)
    if (second === 'media') return this.upload(form)
    const body = type.startsWith('application/json') ? fieldsOf(JSON.parse(raw.toString('utf8'))) : {}
    if (body.messaging_product !== 'whatsapp') return errorOf(400, 100, 'messaging_product is required')
    if (second === 'whatsapp_business_profile') return this.profile(phone, body)
    if (second === 'messages') return this.message(phone, body)
    return errorOf(400, 100, `Unknown path ${path}`)
  }

  private account(what: string | undefined, query: URLSearchParams): Reply {
    if (what === undefined) return { status: 200, body: { id: this.deps.account } }
    if (what !== 'phone_numbers') return errorOf(400, 100, `Unknown path ${what}`)
    // Pages of two, so that clients have to paginate.
    const start = Number(query.get('after') ?? 0)
    const page = this.phones.slice(start, start + 2)
    const more = start + 2 < this.phones.length
    const paging = {
      cursors: { before: String(start), after: String(start + 2) },
      ...(more ? { next: 'there is more' } : {}),
    }
    const data = page.map(({ id, digits, name }) => ({
      id,
      display_phone_number: `+${digits.slice(0, 2)} ${digits.slice(2, 6)}-${digits.slice(6)}`,
      verified_name: name,
    }))
    return { status: 200, body: { data, paging } }
  }

  private upload(form: FormData | null): Reply | Promise<Reply> {
    const file = form?.get('file')
    if (!(file instanceof File) || form?.get('messaging_product') !== 'whatsapp') return errorOf(400, 100, 'file')
    return file.arrayBuffer().then((bytes) => {
      const id = this.storeMedia({ bytes: Buffer.from(bytes), type: file.type, name: file.name })
      return { status: 200, body: { id } }
    })
  }

  private file(id: string): Reply {
    const stored = this.media.get(id)
    if (!stored) return errorOf(400, 100, 'no such file')
    const { bytes, type } = stored
    const url = `${this.deps.base()}/files/${id}`
    const body = {
      messaging_product: 'whatsapp',
      url,
      mime_type: type,
      sha256: digest(bytes),
      file_size: bytes.length,
      id,
    }
    return { status: 200, body }
  }

  private finish(id: string, raw: Buffer): Reply {
    const session = this.sessions.get(id)
    if (!session || session.length !== raw.length)
      return errorOf(400, 100, 'the file does not have the announced length')
    const h = `4::${id}`
    this.handles.set(h, { bytes: raw, type: session.type, name: 'picture' })
    return { status: 200, body: { h } }
  }

  private profile(phone: Business, body: Fields): Reply {
    const handle = textOf(body.profile_picture_handle)
    const picture = this.handles.get(handle)
    if (handle !== '' && !picture) return errorOf(400, 100, 'profile_picture_handle')
    const known = this.profiles.get(phone.id) ?? {}
    const about = body.about === undefined ? {} : { about: body.about }
    this.profiles.set(phone.id, { ...known, ...about, ...(picture ? { picture: digest(picture.bytes) } : {}) })
    return { status: 200, body: { success: true } }
  }

  private async message(phone: Business, body: Fields): Promise<Reply> {
    const { people, faults } = this.deps
    if (body.status === 'read') return { status: 200, body: { success: true } }
    const to = (textOf(body.to) || textOf(body.recipient)).replace(/^\+/, '')
    const type = textOf(body.type)
    const content = fieldsOf(body[type])
    const stored = this.media.get(textOf(content.id))
    if (to === '' || body[type] === undefined) return errorOf(400, 100, 'to and the content of the type are required')
    if (['image', 'video', 'audio', 'document'].includes(type) && !stored) return errorOf(400, 100, 'no such media')
    const id = newId()
    const person = people.find(to)
    const opaque =
      body.biz_opaque_callback_data === undefined ? {} : { biz_opaque_callback_data: body.biz_opaque_callback_data }
    const done = this.deliver(phone, person, { id, type, content, stored, opaque })
    if (faults.take('backwards')) await done
    const contact = { input: to, wa_id: person?.id ?? to }
    return { status: 200, body: { messaging_product: 'whatsapp', contacts: [contact], messages: [{ id }] } }
  }

  private async deliver(
    phone: Business,
    person: Person | null,
    message: { id: string; type: string; content: Fields; stored: StoredFile | undefined; opaque: object },
  ): Promise<void> {
    const { people, faults } = this.deps
    const { id, type, content, stored, opaque } = message
    const sender = person ?? people.add('0')
    const fail = (code: number) =>
      people.status(sender, phone, id, 'failed', {
        ...opaque,
        errors: [{ code, title: titleOf(code), error_data: { details: 'as the network puts it' } }],
      })
    if (!person) return fail(131026)
    if (type !== 'template' && !people.isOpen(person, phone)) return fail(131047)
    const text = textOf(content.body) || textOf(content.caption)
    person.received.push({
      id,
      from: phone.digits,
      text,
      isRead: false,
      ...(stored ? { digest: digest(stored.bytes) } : {}),
      ...(type === 'location' ? { pin: content } : {}),
      ...(type === 'template' ? { template: textOf(content.name) } : {}),
    })
    const steps = ['sent', 'delivered']
    if (faults.take('backwards')) steps.reverse()
    for (const step of steps) await people.status(person, phone, id, step, opaque)
  }
}
