import { Badge } from './status.tsx'

export type TabLink = {
  readonly text: string
  readonly href: string
  readonly current: boolean
  readonly count?: string | undefined
}

/** Tabs are links: the tab is in the URL, so the back button and a reload work. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly TabLink[] }) => (
  <nav class="tabs" aria-label={label}>
    <ul>
      {tabs.map(({ text, href, current, count }) => (
        <li key={href}>
          <a href={href} aria-current={current ? 'page' : undefined}>
            {text}
            {count !== undefined && <Badge>{count}</Badge>}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)
