import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { session } from '../api/session.ts'
import { useTopics } from '../live/live-topics.ts'
import { line, onEvent } from '../live/socket.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { Filters } from '../parts/filters.tsx'
import { Icon } from '../parts/icon.tsx'
import { Section } from '../parts/page.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { words as parts } from '../words/en/parts.ts'
import { everyEvent, pretty } from './endpoint.ts'

type EventRow = { readonly id: string; readonly name: string; readonly at: string; readonly data: object }

/** Events that the page keeps. */
const most = 200

/** Events of the account's log as they arrive, newest first, while the page listens. */
const useLiveEvents = (isOn: boolean) => {
  const [heard, setHeard] = useState<readonly EventRow[]>([])
  useTopics(everyEvent)
  useEffect(() => {
    if (!isOn) return
    return onEvent(({ id, name, at, data, logged, earlier }) => {
      if (!logged || earlier) return
      setHeard((before) =>
        before.some((one) => one.id === id) ? before : [{ id, name, at, data }, ...before].slice(0, most),
      )
    })
  }, [isOn])
  return { heard, clear: () => setHeard([]) }
}

const code = () => `import { Trunkline } from '@trunkline/client'

const trunkline = new Trunkline({ baseUrl: '${location.origin}', apiKey: process.env.KEY })
for await (const { payload } of trunkline.events.listen()) console.log(payload)`

/** Makes an event happen: in the sandbox alone. */
const Trigger = ({ names }: { names: readonly string[] }) => {
  const [name, setName] = useState('contact.created')
  const trigger = useAct('POST /sandbox/events/:event_name')
  type Name = Parameters<typeof trigger>[0]['params']['event_name']
  return (
    <div class="stack">
      <SelectField
        name="event"
        label={words.listen.triggerEvent}
        value={name}
        onChange={setName}
        options={names.map((value) => ({ value, text: value }))}
      />
      <div class="row">
        <Button
          icon="zap"
          busy={trigger.isPending}
          // The names are those of the catalogue.
          onClick={() => void trigger({ params: { event_name: name as Name }, body: {} })}
        >
          {words.listen.triggerAct}
        </Button>
      </div>
      {trigger.error && <Banner tone="bad">{trigger.error.message}</Banner>}
    </div>
  )
}

/** Events appear live, without an endpoint. */
export const ListenPage = ({ search }: PageOf<typeof paths.listen>) => {
  const { route: go } = useLocation()
  const [isOn, setOn] = useState(true)
  const { heard, clear } = useLiveEvents(isOn)
  const types = useQuery('GET /open/webhooks/event-types', {})
  const names = types.data?.event_types.map(({ event_name }) => event_name) ?? []
  const shown = heard.filter(({ name }) => search.name === undefined || name === search.name)
  const isLost = line.value.state === 'lost'
  return (
    <Page
      title={words.listen.title}
      lead={words.listen.lead}
      status={
        <Status tone={isOn && !isLost ? 'good' : 'notice'} icon={isOn ? 'radio' : 'pause'}>
          {!isOn ? words.listen.paused : isLost ? words.listen.lost : words.listen.on}
        </Status>
      }
      actions={
        <>
          <Button icon={isOn ? 'pause' : 'play'} onClick={() => setOn(!isOn)}>
            {isOn ? words.listen.pause : words.listen.resume}
          </Button>
          <Button icon="trash-2" onClick={clear}>
            {words.listen.clear}
          </Button>
        </>
      }
    >
      <Filters
        filters={[
          {
            kind: 'choice',
            name: 'name',
            label: words.listen.only,
            options: names.map((value) => ({ value, text: value })),
          },
        ]}
        values={search}
        onChange={({ name }) => go(paths.listen({}, { name }), true)}
      />
      {shown.length === 0 && (
        <Empty icon="radio" title={words.listen.waiting}>
          {words.listen.waitingHint}
        </Empty>
      )}
      <ol class="feed" aria-label={words.listen.list} aria-live="polite">
        {shown.map(({ id, name, at, data }) => (
          <li key={id}>
            <details>
              <summary>
                <span class="row">
                  <Icon name="chevron-down" />
                  <code class="break">{name}</code>
                </span>
                <Moment time={at} show="relative" />
              </summary>
              <CodeBlock label={words.listen.body} samples={[{ language: words.listen.body, code: pretty(data) }]} />
              <p>
                <a href={paths.event({ event: id })}>{words.listen.details}</a>
              </p>
            </details>
          </li>
        ))}
      </ol>
      {session.value?.installation.sandbox && (
        <Section title={words.listen.trigger}>
          <Trigger names={names} />
        </Section>
      )}
      <Section title={words.listen.code} lead={words.listen.codeHint}>
        <CodeBlock label={words.listen.code} samples={[{ language: parts.code.client, code: code() }]} />
      </Section>
    </Page>
  )
}
