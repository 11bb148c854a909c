import { useQuery } from '../api/query.ts'
import { account } from '../api/session.ts'
import { ButtonLink } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { Status } from '../parts/status.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/events.ts'
import { words as parts } from '../words/en/parts.ts'
import { stateTones } from './endpoint.ts'

const samples = () => [
  { language: parts.code.curl, code: `curl '${location.origin}/open/info' \\\n  -H "X-User-API-Key: $KEY"` },
  {
    language: parts.code.client,
    code: `import { Trunkline } from '@trunkline/client'

const trunkline = new Trunkline({ baseUrl: '${location.origin}', apiKey: process.env.KEY })
for await (const { phone_number } of trunkline.numbers.list()) console.log(phone_number)`,
  },
]

/** Refused requests that the overview shows. */
const shownRequests = 5

const Endpoints = () => {
  const { data } = useQuery('GET /open/webhooks/endpoints', { live: ['webhook.delivery'] })
  const unwell = data?.endpoints.filter(({ state }) => state === 'failing' || state === 'disabled') ?? []
  if (!data) return null
  if (data.endpoints.length === 0) return <a href={paths.webhooks()}>{words.overview.noEndpoints}</a>
  if (unwell.length === 0) return <Status tone="good">{words.overview.allWell}</Status>
  return (
    <span class="stack stack-close">
      <span>
        <Status tone={stateTones.failing}>{words.overview.unwell(unwell.length)}</Status>
      </span>
      {unwell.map(({ endpoint_uuid: webhook, hook_url }) => (
        <a key={webhook} class="break" href={paths.webhook({ webhook })}>
          {hook_url}
        </a>
      ))}
    </span>
  )
}

const Refused = () => {
  const { data } = useQuery('GET /open/requests', { query: { outcome: 'refused', results_per_page: shownRequests } })
  if (!data) return null
  if (data.requests.length === 0) return <p class="soft">{words.overview.noneRefused}</p>
  return (
    <ul class="feed" aria-label={words.overview.refused}>
      {data.requests.map(({ request_id: id, method, route, status, error_code: code, at }) => (
        <li key={id} class="row row-apart">
          <a class="break" href={paths.requests({}, { request_id: id })}>
            {method} {route}
          </a>
          <span class="row">
            <code>
              {status} {code}
            </code>
            <Moment time={at} show="relative" />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** How programs connect, and whether all is well. */
export const OverviewPage = (_: PageOf<typeof paths.developers>) => (
  <Page
    title={words.overview.title}
    lead={words.overview.lead}
    actions={
      <ButtonLink href={paths.start()} icon="zap">
        {words.overview.openStart}
      </ButtonLink>
    }
  >
    <KeyValue
      facts={[
        {
          name: words.overview.address,
          value: <Copy value={location.origin} what={words.overview.address} />,
        },
        {
          name: words.overview.account,
          value: <Copy value={account.value?.uuid ?? ''} what={words.overview.account} />,
        },
        {
          name: words.overview.reference,
          value: (
            <span class="row">
              <a href="/docs">{words.overview.openReference}</a>
              <a href="/openapi.json">{words.overview.document}</a>
            </span>
          ),
        },
        { name: words.overview.health, value: <Endpoints /> },
      ]}
    />
    <Section
      title={words.overview.first}
      lead={words.overview.firstHint}
      actions={<ButtonLink href={paths.keys({}, { create: '1' })}>{words.overview.makeKey}</ButtonLink>}
    >
      <CodeBlock label={words.overview.first} samples={samples()} />
    </Section>
    <Section
      title={words.overview.refused}
      actions={<ButtonLink href={paths.requests()}>{words.overview.allRequests}</ButtonLink>}
    >
      <Refused />
    </Section>
  </Page>
)
