// Every link of the console. A page never writes an address by hand: `paths.key({ key: 'KEY…' })`.

type Names<P extends string> = P extends `${infer Part}/${infer Rest}`
  ? Names<Part> | Names<Rest>
  : P extends `:${infer Name}`
    ? Name
    : never
type OptionalNames<N> = N extends `${infer Name}?` ? Name : never
type RequiredNames<N> = N extends `${string}?` ? never : N
type Text<N> = { readonly [K in N & string]: string }

/** Parameters of a pattern. The account may be left out: then it is the one of the page. */
type ParamsOf<P extends string> = Text<Exclude<RequiredNames<Names<P>>, 'account'>> &
  Partial<Text<OptionalNames<Names<P>> | Extract<Names<P>, 'account'>>>

/** Makes the address of a page. */
export type Path<P extends string, S extends string> = {
  (
    ...values: object extends ParamsOf<P>
      ? [params?: ParamsOf<P>, search?: Search<S>]
      : [params: ParamsOf<P>, search?: Search<S>]
  ): string
  readonly pattern: P
}

/** A path whose parameters are not known. */
export type AnyPath = { (params?: Readonly<Record<string, string | undefined>>): string; readonly pattern: string }

type Search<S extends string> = { readonly [K in S]?: string | undefined }

/** Properties of the page at a path. */
export type PageOf<T> =
  T extends Path<infer P, infer S>
    ? {
        readonly params: Text<RequiredNames<Names<P>>> & Partial<Text<OptionalNames<Names<P>>>>
        readonly search: Search<S>
      }
    : never

let account = ''

/** Sets the account of links that name none. The router calls it. */
export const setLinkAccount = (uuid: string): void => {
  account = uuid
}

const searchText = (search: Search<string>): string => {
  const text = new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) => (value ? [[name, value] as [string, string]] : [])),
  ).toString()
  return text && `?${text}`
}

/** @param pattern with `:name` for parameters, `:name?` for optional ones at the end
 *  @param _search names of the search parameters that the page reads */
const path = <const P extends string, const S extends string = never>(pattern: P, ..._search: S[]): Path<P, S> => {
  const make = (params: Readonly<Record<string, string | undefined>> = {}, search: Search<string> = {}) =>
    pattern
      .split('/')
      .map((part) => {
        if (!part.startsWith(':')) return part
        const name = part.replace(/^:|\?$/g, '')
        return encodeURIComponent(params[name] ?? (name === 'account' ? account : ''))
      })
      .join('/')
      .replace(/\/+$/, '') + searchText(search)
  // The parameters are checked where the function is called.
  return Object.assign(make, { pattern }) as unknown as Path<P, S>
}

export const paths = {
  home: path('/console'),
  /** Opens the telephone over the start page. */
  phone: path('/console/phone'),
  signIn: path('/console/sign-in', 'to'),
  claim: path('/console/claim'),
  invitation: path('/console/invitation'),
  forgotten: path('/console/forgotten'),
  emailProof: path('/console/email-proof'),

  profile: path('/console/you'),
  sessions: path('/console/you/sessions'),
  security: path('/console/you/security'),
  telephone: path('/console/you/telephone'),

  inbox: path(
    '/console/:account/inbox/:view?/:conversation?',
    ...(['q', 'status', 'assignee', 'tag', 'channel_uuid', 'kind', 'unread', 'waiting'] as const),
    ...(['priority', 'since', 'until', 'filter', 'pane', 'item'] as const),
  ),
  notifications: path('/console/you/notifications'),

  numbers: path('/console/:account/numbers', 'q', 'status', 'country'),
  shop: path(
    '/console/:account/numbers/shop/:country?/:group?',
    'q',
    'type',
    'region',
    'place',
    'can',
    'asks',
    'shown',
    'contains',
    'number',
  ),
  callerIds: path('/console/:account/numbers/caller-ids', 'add'),
  number: path('/console/:account/numbers/:number', 'release'),
  contacts: path('/console/:account/contacts', 'q', 'blocked', 'channel', 'sort', 'create'),
  duplicates: path('/console/:account/contacts/duplicates', 'by', 'merge'),
  importContacts: path('/console/:account/contacts/import'),
  optOuts: path('/console/:account/contacts/opt-outs', 'contact', 'reason', 'add', 'import'),
  contact: path('/console/:account/contacts/:contact', 'edit'),
  start: path('/console/:account/start'),
  logs: path('/console/:account/logs', 'channel', 'contact', 'direction', 'status', 'error', 'since', 'until'),
  sendings: path('/console/:account/logs/sendings', 'send'),
  sending: path('/console/:account/logs/sendings/:sending'),
  message: path('/console/:account/logs/messages/:message', 'session', 'raw', 'again'),
  calls: path(
    '/console/:account/calls',
    ...(['q', 'status', 'direction', 'number', 'user', 'recorded', 'longer', 'since', 'until'] as const),
  ),
  applications: path('/console/:account/calls/applications', 'create'),
  application: path('/console/:account/calls/applications/:application', 'act'),
  call: path('/console/:account/calls/:call', 'raw', 'marks', 'at'),

  money: path('/console/:account/money', 'kind', 'since', 'until', 'entry', 'at', 'low'),
  holds: path('/console/:account/money/holds'),
  usage: path('/console/:account/money/usage', 'step', 'by', 'kind', 'show', 'since', 'until'),

  developers: path('/console/:account/developers'),
  keys: path('/console/:account/developers/keys', 'create'),
  webhooks: path('/console/:account/developers/webhooks', 'create'),
  webhook: path(
    '/console/:account/developers/webhooks/:webhook',
    ...(['tab', 'act', 'state', 'event_name', 'since', 'until', 'status_code', 'min_latency_ms', 'step'] as const),
  ),
  delivery: path('/console/:account/developers/webhooks/:webhook/:delivery'),
  listen: path('/console/:account/developers/listen', 'name'),
  events: path('/console/:account/developers/events', 'name', 'channel_uuid', 'since', 'until'),
  event: path('/console/:account/developers/events/:event'),
  eventTypes: path('/console/:account/developers/event-types', 'name'),
  requests: path(
    '/console/:account/developers/requests',
    ...(['method', 'outcome', 'status', 'error_code', 'route', 'request_id', 'since', 'until'] as const),
  ),

  channels: path('/console/:account/channels', 'status', 'create'),
  channel: path('/console/:account/channels/:channel'),

  people: path('/console/:account/people', 'invite', 'role'),

  settings: path('/console/:account/settings'),
  inboxTags: path('/console/:account/settings/tags'),
  cannedReplies: path('/console/:account/settings/replies'),
  inboxViews: path('/console/:account/settings/views'),
  audit: path('/console/:account/settings/audit', 'actor', 'action', 'target', 'since', 'until', 'act'),
}
