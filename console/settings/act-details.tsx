import type { ComponentChildren } from 'preact'
import { Drawer } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { KeyValue } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Copy, Moment, NoValue } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/settings.ts'
import { type Act, actionName, actorName, valueText } from './act.ts'

type Change = Act['changes'][number]

const Value = ({ value }: { value: unknown }) => {
  const text = valueText(value)
  return text === undefined ? <NoValue /> : <bdi class="wrap">{text}</bdi>
}

/** Changes that fit into a row of the table. */
const shown = 2

/** The first changes of an act: `role: agent → admin`. */
export const Changes = ({ changes }: { changes: readonly Change[] }) => {
  if (changes.length === 0) return <span class="soft">{words.audit.nothing}</span>
  return (
    <span class="audit-changes">
      {changes.slice(0, shown).map(({ field, before, after }) => (
        <span key={field} class="audit-change">
          <span class="soft">{field}</span>
          {before !== undefined && <Value value={before} />}
          {before !== undefined && <Icon name="arrow-right" label={words.audit.to} class="icon-turn" />}
          <Value value={after} />
        </span>
      ))}
      {changes.length > shown && <span class="soft">{words.audit.more(changes.length - shown)}</span>}
    </span>
  )
}

/** The page of a target, where there is one. */
const pageOf = (target: string): string | undefined => {
  if (target.startsWith('KEY')) return paths.keys()
  if (target.startsWith('USR')) return paths.people()
  if (target.startsWith('WPN')) return paths.channel({ channel: target })
  return undefined
}

const Target = ({ id }: { id: string }) => {
  const page = pageOf(id)
  return (
    <span class="stack stack-close">
      <Copy value={id} what={words.audit.target} />
      <span class="row">
        {page && <a href={page}>{words.audit.openTarget}</a>}
        <a href={paths.audit({}, { target: id })}>{words.audit.onlyTarget}</a>
      </span>
    </span>
  )
}

/** A value with a link that filters by it. */
const Filtered = ({ children, href, text }: { children: ComponentChildren; href: string; text: string }) => (
  <span class="stack stack-close">
    <span>{children}</span>
    <a href={href}>{text}</a>
  </span>
)

const factsOf = ({ uuid, at, actor, action, targets, address, user_agent, request_id, session_uuid }: Act) => [
  { name: words.audit.at, value: <Moment time={at} show="exact" /> },
  {
    name: words.audit.actor,
    value: (
      <Filtered href={paths.audit({}, { actor: actor.uuid ?? actor.label ?? actor.kind })} text={words.audit.onlyActor}>
        {actorName(actor)}
      </Filtered>
    ),
  },
  {
    name: words.audit.operation,
    value: (
      <Filtered href={paths.audit({}, { action })} text={words.audit.onlyAction}>
        <code>{action}</code>
      </Filtered>
    ),
  },
  ...targets.map((id, index) => ({
    name: index === 0 ? words.audit.target : `${words.audit.target} ${index + 1}`,
    value: <Target id={id} />,
  })),
  ...(address ? [{ name: words.audit.address, value: <code>{address}</code> }] : []),
  ...(user_agent ? [{ name: words.audit.userAgent, value: <span class="wrap">{user_agent}</span> }] : []),
  ...(request_id ? [{ name: words.audit.request, value: <Copy value={request_id} what={words.audit.request} /> }] : []),
  ...(session_uuid
    ? [{ name: words.audit.session, value: <Copy value={session_uuid} what={words.audit.session} /> }]
    : []),
  { name: words.audit.id, value: <Copy value={uuid} what={words.audit.id} /> },
]

/** Everything about one act. */
export const ActDetails = ({ act, onClose }: { act: Act | undefined; onClose: () => void }) => (
  <Drawer open={act !== undefined} title={act ? actionName(act.action) : words.audit.details} onClose={onClose}>
    {act && (
      <div class="stack stack-wide">
        <Table
          label={words.audit.changes}
          rows={act.changes}
          rowKey={({ field }) => field}
          columns={[
            { key: 'field', title: words.audit.field, cell: ({ field }) => <code>{field}</code> },
            { key: 'before', title: words.audit.before, cell: ({ before }) => <Value value={before} /> },
            { key: 'after', title: words.audit.after, cell: ({ after }) => <Value value={after} /> },
          ]}
          empty={<p class="soft">{words.audit.nothing}</p>}
        />
        <KeyValue facts={factsOf(act)} />
      </div>
    )}
  </Drawer>
)
