import { useLocation } from 'preact-iso/router'
import { useQuery } from '../api/query.ts'
import { ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { type EventType, pretty } from './endpoint.ts'

const kinds: readonly EventType['channel'][] = ['sms', 'call', 'msgapp', 'account']

const Shown = ({ type }: { type: EventType }) => (
  <section class="stack">
    <div>
      <h2 class="break">{type.event_name}</h2>
      <p>{type.description}</p>
    </div>
    <CodeBlock label={words.types.example} samples={[{ language: words.types.example, code: pretty(type.example) }]} />
    <details class="fold">
      <summary>{words.types.showSchema}</summary>
      <CodeBlock label={words.types.schema} samples={[{ language: words.types.schema, code: pretty(type.schema) }]} />
    </details>
    <div class="row">
      <ButtonLink href={paths.events({}, { name: type.event_name })} icon="activity">
        {words.types.log}
      </ButtonLink>
    </div>
  </section>
)

/** Every event that webhooks can receive. */
export const EventTypesPage = ({ search }: PageOf<typeof paths.eventTypes>) => {
  const { route: go } = useLocation()
  const types = useQuery('GET /open/webhooks/event-types', {})
  const all = types.data?.event_types ?? []
  const shown = search.name === undefined ? all[0] : all.find(({ event_name }) => event_name === search.name)
  return (
    <Page title={words.types.title} lead={words.types.lead} width="full">
      {types.error && !types.data ? (
        <ErrorState refusal={types.error} onRetry={types.refresh} />
      ) : !types.data ? (
        <Skeleton rows={8} />
      ) : (
        <div class="catalogue">
          <div class="catalogue-choice">
            <SelectField
              name="event"
              label={words.types.event}
              value={shown?.event_name}
              onChange={(name) => go(paths.eventTypes({}, { name }))}
              options={all.map(({ event_name: value }) => ({ value, text: value }))}
            />
          </div>
          <nav class="catalogue-list" aria-label={words.types.list}>
            {kinds.map((kind) => (
              <div key={kind}>
                <h2 class="field-label">{words.types.kinds[kind]}</h2>
                <ul>
                  {all
                    .filter(({ channel }) => channel === kind)
                    .map(({ event_name: name }) => (
                      <li key={name}>
                        <a
                          href={paths.eventTypes({}, { name })}
                          aria-current={shown?.event_name === name ? 'true' : undefined}
                        >
                          {name}
                        </a>
                      </li>
                    ))}
                </ul>
              </div>
            ))}
          </nav>
          {shown ? <Shown type={shown} /> : <p>{words.types.missing}</p>}
        </div>
      )}
    </Page>
  )
}
