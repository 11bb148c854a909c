import { paths } from '../paths.ts'
import { page, type Section } from '../shell/section.ts'
import { words } from '../words/en/shell.ts'

const needs = 'develop'

export const developers: Section = {
  name: 'developers',
  title: () => words.sections.developers,
  icon: 'code-xml',
  key: 'd',
  place: 'account',
  pages: [
    page({
      path: paths.developers,
      title: () => words.pages.developers,
      needs,
      isListed: true,
      load: () => import('./overview.tsx').then(({ OverviewPage }) => OverviewPage),
    }),
    page({
      path: paths.keys,
      title: () => words.pages.keys,
      needs,
      isListed: true,
      load: () => import('./api-keys.tsx').then(({ KeysPage }) => KeysPage),
    }),
    page({
      path: paths.webhooks,
      title: () => words.pages.webhooks,
      needs,
      isListed: true,
      load: () => import('./webhooks.tsx').then(({ WebhooksPage }) => WebhooksPage),
    }),
    page({
      path: paths.webhook,
      title: () => words.pages.webhook,
      needs,
      load: () => import('./webhook.tsx').then(({ WebhookPage }) => WebhookPage),
    }),
    page({
      path: paths.delivery,
      title: () => words.pages.delivery,
      needs,
      load: () => import('./delivery.tsx').then(({ DeliveryPage }) => DeliveryPage),
    }),
    page({
      path: paths.listen,
      title: () => words.pages.listen,
      needs,
      isListed: true,
      load: () => import('./listen.tsx').then(({ ListenPage }) => ListenPage),
    }),
    page({
      path: paths.events,
      title: () => words.pages.events,
      needs: 'read_only',
      isListed: true,
      load: () => import('./events.tsx').then(({ EventsPage }) => EventsPage),
    }),
    page({
      path: paths.event,
      title: () => words.pages.event,
      needs: 'read_only',
      load: () => import('./event.tsx').then(({ EventPage }) => EventPage),
    }),
    page({
      path: paths.eventTypes,
      title: () => words.pages.eventTypes,
      needs,
      isListed: true,
      load: () => import('./event-types.tsx').then(({ EventTypesPage }) => EventTypesPage),
    }),
    page({
      path: paths.requests,
      title: () => words.pages.requests,
      needs,
      isListed: true,
      load: () => import('./requests.tsx').then(({ RequestsPage }) => RequestsPage),
    }),
  ],
}
